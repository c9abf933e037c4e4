// Backward weight as one implicit GEMM, on both sides of the launch.
//
// Rows are output channels k, columns are (filter tap f, input channel c), and the reduction runs over images
// and output positions:  M = K, N = C * prod(F), K = images * prod(O). On each axis, output o meets input
//     i = o * stride + f * dilation - left_pad
// at tap f; outside 0 <= i < I the input is zero.
//
// Merged groups (depthwise, C = K = 1): one GEMM takes Merge neighbouring groups, as if they were channels.
// Row k and column c are then groups, and only the cells where both are the same group are kept.
#pragma once

#include "bitgate/conv_shape.hpp"
#include "bitgate/elementwise.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

// What an instance may take for granted. A wrong assertion gives wrong bits, so check_specialisation refuses
// it.
enum class Specialisation {
  general,                   // nothing
  filter_1x1_pad_0,          // one tap, and every window lies inside: no bounds to test
  filter_1x1_stride_1_pad_0, // also, output cell o reads input cell o
};

constexpr bool is_pointwise(Specialisation special) {
  return special != Specialisation::general;
}

struct Axis {
  int32_t input, filter, output;
  int32_t stride, dilation, left_pad;
};

struct Geometry {
  int32_t images, k, c; // channels of a group, or merged groups
  int32_t slices;       // split-K
  Axis axis[axes];
  Strides dy, w, x, d;
  Elementwise op;
};

BITGATE_HD inline int32_t taps_of(const Geometry& geometry) {
  return geometry.axis[0].filter * geometry.axis[1].filter * geometry.axis[2].filter;
}
BITGATE_HD inline int32_t columns_of(const Geometry& geometry) {
  return geometry.c * taps_of(geometry);
}
BITGATE_HD inline int32_t terms_of(const Geometry& geometry) {
  return geometry.images * geometry.axis[0].output * geometry.axis[1].output * geometry.axis[2].output;
}

// Term r of the reduction: an image and an output position on each axis, the last axis fastest.
struct Term {
  int32_t image;
  int32_t position[axes];
};

BITGATE_HD inline Term term_at(const Geometry& geometry, int32_t r) {
  Term term;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int32_t length = geometry.axis[axis].output;
    term.position[axis] = r % length;
    r /= length;
  }
  term.image = r;
  return term;
}

// Column n: a filter tap, the last axis fastest, and within it a channel.
struct Column {
  int32_t f[axes];
  int32_t c;
};

BITGATE_HD inline Column column_at(const Geometry& geometry, int32_t n) {
  Column column{{}, n % geometry.c};
  int32_t rest = n / geometry.c;
  for (int axis = axes - 1; axis >= 0; --axis) {
    column.f[axis] = rest % geometry.axis[axis].filter;
    rest /= geometry.axis[axis].filter;
  }
  return column;
}

// Input coordinate of an output position at tap 0.
template <Specialisation special>
BITGATE_HD __forceinline__ int32_t input_at(const Axis& axis, int32_t position) {
  if constexpr (special == Specialisation::filter_1x1_stride_1_pad_0)
    return position;
  else if constexpr (special == Specialisation::filter_1x1_pad_0)
    return position * axis.stride;
  else
    return position * axis.stride - axis.left_pad;
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// `merge` groups make one GEMM; 1: each has its own.
inline Geometry make_geometry(const ConvShape& shape, int merge, const Elementwise& op, const Strides& d) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  Geometry geometry{};
  geometry.images = narrow(shape.images);
  geometry.k = merge > 1 ? merge : narrow(shape.k);
  geometry.c = merge > 1 ? merge : narrow(shape.c);
  geometry.slices = 1;
  for (int axis = 0; axis < axes; ++axis)
    geometry.axis[axis] = {narrow(shape.input[axis]),    narrow(shape.filter[axis]),
                           narrow(shape.output[axis]),   narrow(shape.stride[axis]),
                           narrow(shape.dilation[axis]), narrow(shape.left_pad[axis])};
  geometry.dy = shape.y, geometry.w = shape.w, geometry.x = shape.x, geometry.d = d;
  geometry.op = op;
  return geometry;
}

} // namespace bitgate::implicit_gemm::bwd_weight
