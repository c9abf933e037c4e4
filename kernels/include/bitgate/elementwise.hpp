// Element-wise operations on an operand's element or a result cell, in the epilogue's type, before its one
// rounding.
#pragma once

#include <cstring>

#include "bitgate/number.hpp"

// PASS v; SCALE alpha*v; BIAS v + d0; ADD v + d0 (d0 shaped like the result); BILINEAR alpha*v + beta*d0;
// RELU max(v, 0). alpha and beta are rounded to the epilogue's type once. A factor of 0 leaves nothing out: 0
// times a NaN or an infinity is NaN.
enum ElementwiseKind : int32_t {
  BITGATE_PASS = 0,
  BITGATE_SCALE = 1,
  BITGATE_BIAS = 2,
  BITGATE_ADD = 3,
  BITGATE_BILINEAR = 4,
  BITGATE_RELU = 5
};

namespace bitgate {

// The kind that an attribute names; -1 for a name that there is not.
inline int32_t elementwise_named(const char* name) noexcept {
  constexpr const char* names[] = {"pass", "scale", "bias", "nd1", "bilinear", "relu"};
  for (int32_t kind = BITGATE_PASS; kind <= BITGATE_RELU; ++kind)
    if (std::strcmp(names[kind], name) == 0)
      return kind;
  return -1;
}

// A kernel's argument.
struct Elementwise {
  int32_t kind;
  int32_t d_dtype; // of enum bitgate_dtype; means nothing where no D tensor is read
  double alpha, beta;
};

// D tensors that the operation reads.
inline int num_d(int32_t kind) {
  return kind == BITGATE_BIAS || kind == BITGATE_ADD || kind == BITGATE_BILINEAR ? 1 : 0;
}

// Each line rounds once, but for bilinear: alpha * v rounds, then fma(beta, d, that) rounds.
// relu leaves NaN and -0 as they are.
template <class V> BITGATE_HD inline V apply(const Elementwise& op, V v, V d) {
  switch (op.kind) {
  case BITGATE_SCALE:
    return static_cast<V>(op.alpha) * v;
  case BITGATE_BIAS:
  case BITGATE_ADD:
    return v + d;
  case BITGATE_BILINEAR:
    return fused(static_cast<V>(op.beta), d, static_cast<V>(op.alpha) * v);
  case BITGATE_RELU:
    return v < V(0) ? V(0) : v;
  default:
    return v;
  }
}

// The types that a D next to a result of type `result` may have, whichever a kernel is compiled for.
inline constexpr bool is_d_dtype(int32_t d, int32_t result) {
  return d == result || d == BITGATE_F32 || d == BITGATE_F16 || d == BITGATE_BF16;
}

// A cell of D, next to a result of type T; `+` steps in cells.
template <class T> class DCell {
public:
  BITGATE_HD DCell(const void* first, const Elementwise& op) : first_(first), dtype_(op.d_dtype) {}

  BITGATE_HD DCell operator+(int64_t cells) const {
    DCell moved = *this;
    moved.at_ += cells;
    return moved;
  }
  BITGATE_HD auto value() const -> typename Number<T>::Epilogue {
    switch (dtype_) {
    case BITGATE_F32:
      return read<float>();
    case BITGATE_F16:
      return read<f16>();
    case BITGATE_BF16:
      return read<bf16>();
    default:
      return read<T>();
    }
  }

private:
  template <class Element> BITGATE_HD auto read() const -> typename Number<T>::Epilogue {
    return static_cast<typename Number<T>::Epilogue>(
        Number<Element>::widen(static_cast<const Element*>(first_)[at_]));
  }

  const void* first_;
  int64_t at_ = 0;
  int32_t dtype_;
};

// The output cell of an accumulated sum. `d` is the cell's D element; not read unless the operation does.
template <class T>
BITGATE_HD inline T finish(typename Number<T>::Accumulator sum, const Elementwise& op, const DCell<T>& d) {
  using Epilogue = typename Number<T>::Epilogue;
  const bool reads_d = op.kind == BITGATE_BIAS || op.kind == BITGATE_ADD || op.kind == BITGATE_BILINEAR;
  const Epilogue d_value = reads_d ? d.value() : Epilogue(0);
  return Number<T>::narrow(apply(op, static_cast<Epilogue>(sum), d_value));
}

} // namespace bitgate
