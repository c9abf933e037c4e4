// A reduction as the C ABI states it: y[o,i] = sum or maximum over l of x[o,l,i]; of an argmax index[o,i] is
// the first l that holds the maximum.
//
// Roles are x, y and, of an argmax, index (i32). Logical order of lengths and strides: x (outer, length,
// inner), y and index (outer, inner). Attributes, with their defaults:
//     kind                sum, max or argmax; it must be stated
//     split_k = 1         slices of a row that meet in memory; -1: as the kernel likes
// A sum starts from +0; f16 and bf16 are summed in f32 and rounded once, i8 in i32, i32 modulo 2^32. A
// maximum follows the order of values, -0 before +0, and NaN above all else: then y is the type's quiet NaN.
#pragma once

#include <cstring>

#include "bitgate/dtype.hpp"
#include "bitgate/layout.hpp"
#include "bitgate/number.hpp"
#include "bitgate/problem.hpp"
#include "bitgate/record.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

enum class ReductionKind { sum, max, argmax };

struct ReductionProblem {
  // Device pointers, by role.
  struct Buffers {
    const void* x;
    void* y;
    int32_t* index;
    void* workspace;
  };

  bitgate_tensor x, y, index;
  ReductionKind kind;
  int64_t outer, length, inner;
  int32_t split_k;

  // What a record says unless the kernel knows better.
  static void begin(bitgate_dispatch_record& record) noexcept { note(record, "split_k", 1); }
};

// Of y and index, which have no rows.
inline Layout result_layout(const bitgate_tensor& tensor) noexcept {
  return {tensor.strides[0], 0, tensor.strides[1], {0, 0, 0}};
}

// What a reduction makes of elements of type T.
template <class T> struct Reduced {
  using Accumulator = float;
  using Sum = T;
  static constexpr int32_t code = Number<T>::dtype, sum_code = code;
  BITGATE_HD static float widen(T value) { return Number<T>::widen(value); }
  BITGATE_HD static T narrow(float value) { return Number<T>::narrow(value); }
};
struct ReducedInteger {
  using Accumulator = int32_t;
  using Sum = int32_t;
  static constexpr int32_t sum_code = BITGATE_I32;
  BITGATE_HD static int32_t widen(int32_t value) { return value; }
  BITGATE_HD static int32_t narrow(int32_t value) { return value; }
};
template <> struct Reduced<int8_t> : ReducedInteger {
  static constexpr int32_t code = BITGATE_I8;
};
template <> struct Reduced<int32_t> : ReducedInteger {
  static constexpr int32_t code = BITGATE_I32;
};

// a + b in an accumulator's type; integers wrap modulo 2^32.
BITGATE_HD inline float reduced_sum(float a, float b) {
  return a + b;
}
BITGATE_HD inline int32_t reduced_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

// BITGATE_BAD_ARGUMENT when the parts of `problem` contradict each other.
inline int32_t read(const bitgate_problem& problem, ReductionProblem& to, bitgate_reason* reason) noexcept {
  static constexpr const char* kinds[] = {"sum", "max", "argmax"};
  ProblemReader reader(problem, reason);
  const char* kind = "";
  reader.text("kind", kind);
  int found = 0;
  while (found < 3 && std::strcmp(kinds[found], kind) != 0)
    ++found;
  if (found == 3)
    reader.fail(BITGATE_REFUSED, "kind", "kind '%.32s' is unknown: known are sum, max, argmax", kind);
  to.kind = static_cast<ReductionKind>(found);
  reader.tensor("x", to.x);
  reader.tensor("y", to.y);
  to.index = {};
  if (to.kind == ReductionKind::argmax)
    reader.tensor("index", to.index);
  to.split_k = 1;
  reader.integer("split_k", to.split_k);
  const bool has_index = to.kind == ReductionKind::argmax;
  if ((to.x.access & BITGATE_WRITTEN) != 0 || (to.y.access & BITGATE_WRITTEN) == 0 ||
      (has_index && (to.index.access & BITGATE_WRITTEN) == 0))
    reader.fail(BITGATE_BAD_ARGUMENT, "problem", "x must be read, y and index written");
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  to.outer = to.x.lengths[0], to.length = to.x.lengths[1], to.inner = to.x.lengths[2];
  if (to.x.rank != 3 || to.y.rank != 2 || (has_index && to.index.rank != 2))
    BITGATE_BAD(reason, "problem", "ranks of x and y are %d and %d: they must be 3 and 2, as that of index",
                to.x.rank, to.y.rank);
  if (has_index && to.index.dtype != BITGATE_I32)
    BITGATE_BAD(reason, "problem", "index is of type %s: it must be i32", dtype_name(to.index.dtype));
  if (to.outer < 1 || to.length < 1 || to.inner < 1)
    BITGATE_BAD(reason, "problem", "x has a length below 1");
  for (const bitgate_tensor* result : {&to.y, &to.index})
    if (result->rank == 2 && (result->lengths[0] != to.outer || result->lengths[1] != to.inner))
      BITGATE_BAD(reason, "problem", "%s has lengths %lld, %lld: x says %lld, %lld", result->role,
                  static_cast<long long>(result->lengths[0]), static_cast<long long>(result->lengths[1]),
                  static_cast<long long>(to.outer), static_cast<long long>(to.inner));
  for (const bitgate_tensor* tensor : {&to.x, &to.y, &to.index})
    for (int i = 0; i < tensor->rank; ++i)
      if (tensor->strides[i] < 0)
        BITGATE_BAD(reason, "problem", "%s has the negative stride %lld in dimension %d", tensor->role,
                    static_cast<long long>(tensor->strides[i]), i);
  return BITGATE_OK;
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         ReductionProblem::Buffers& to) noexcept {
  to.x = buffer_of(problem, buffers, "x");
  to.y = buffer_of(problem, buffers, "y");
  to.index = static_cast<int32_t*>(buffer_of(problem, buffers, "index"));
  to.workspace = buffers.workspace;
}

// dtypes: x is of T, y of what the kind makes of it.
template <class T> int32_t check_dtypes(const ReductionProblem& problem, bitgate_reason* reason) noexcept {
  const int32_t y = problem.kind == ReductionKind::sum ? Reduced<T>::sum_code : Reduced<T>::code;
  if (problem.x.dtype != Reduced<T>::code || problem.y.dtype != y)
    BITGATE_REFUSE(reason, "dtypes", "x is %s and y %s: they must be %s and %s", dtype_name(problem.x.dtype),
                   dtype_name(problem.y.dtype), dtype_name(Reduced<T>::code), dtype_name(y));
  return BITGATE_OK;
}

using ReductionRequest = Request<ReductionProblem>;
using ReductionInstance = Instance<ReductionProblem>;
using ReductionRegistration = Registration<ReductionProblem>;

} // namespace bitgate
