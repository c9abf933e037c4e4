// What convolutions whose order of summation is stated (kernels/naive_conv/naive_conv.hpp) have in common:
// the types of tensors and factors, arguments, and which cells meet.
#pragma once

#include <type_traits>

#include "bitgate/conv_shape.hpp"
#include "bitgate/product_predicates.hpp"

namespace bitgate::ordered_conv {

// What an element is multiplied as. Matrix instructions take f8 beside bf8, so these stay as they are.
template <class Element, class Compute>
using FactorOf = std::conditional_t<is_float8<Element> && is_float8<Compute>, Element, Compute>;

// x, w and y in memory, and the factors: the narrower of x and w unless stated, and an operand may have its
// own.
template <class X_, class W_ = X_, class Y_ = X_,
          class Compute_ = std::conditional_t<sizeof(X_) <= sizeof(W_), X_, W_>, class ComputeX = Compute_,
          class ComputeW = Compute_, class ComputeY = Compute_>
struct Types {
  using X = X_;
  using W = W_;
  using Y = Y_;
  using Compute = Compute_;
  using Accumulator = typename Number<Compute>::Accumulator;
  using FactorX = FactorOf<X, ComputeX>;
  using FactorW = FactorOf<W, ComputeW>;
  using FactorY = FactorOf<Y, ComputeY>;
  static constexpr ProductDtypes codes{
      Number<X>::dtype,        Number<W>::dtype,        Number<Y>::dtype,       Number<Compute>::dtype,
      Number<ComputeX>::dtype, Number<ComputeW>::dtype, Number<ComputeY>::dtype};
};

template <class T, class Factor, class Element>
BITGATE_HD inline typename T::Accumulator factor(Element element, const Elementwise& op) {
  using Epilogue = typename Number<Element>::Epilogue;
  const auto wide = Number<Element>::widen(element);
  if constexpr (std::is_same_v<Factor, Element>)
    if (op.kind == BITGATE_PASS)
      return wide;
  const Epilogue value = apply(op, static_cast<Epilogue>(wide), Epilogue(0));
  return Number<Factor>::widen(Number<Factor>::narrow(value));
}

struct Arguments {
  ConvShape shape;
  Layout d;
  Elementwise op, x_op, w_op;
};

// Cell number `index` of a tensor; columns (channels) are fastest, so that neighbours share their operands'
// rows.
BITGATE_HD inline Cell cell_at(int64_t index, int64_t rows, int64_t columns, const int64_t (&spatial)[axes]) {
  Cell cell;
  cell.column = index % columns;
  index /= columns;
  for (int axis = axes - 1; axis >= 0; --axis) {
    cell.at[axis] = index % spatial[axis];
    index /= spatial[axis];
  }
  cell.row = index % rows;
  cell.group = index / rows;
  return cell;
}

// Input coordinate that output `o` and tap `f` meet at; false if it lies in the padding.
BITGATE_HD inline bool input_at(const ConvShape& shape, int axis, int64_t o, int64_t f, int64_t& i) {
  i = o * shape.stride[axis] + f * shape.dilation[axis] - shape.left_pad[axis];
  return i >= 0 && i < shape.input[axis];
}

// Output coordinate whose window meets input `i` at tap `f`; false if there is none.
BITGATE_HD inline bool output_at(const ConvShape& shape, int axis, int64_t i, int64_t f, int64_t& o) {
  const int64_t position = i + shape.left_pad[axis] - f * shape.dilation[axis];
  o = position / shape.stride[axis];
  return position % shape.stride[axis] == 0 && o >= 0 && o < shape.output[axis];
}

} // namespace bitgate::ordered_conv
