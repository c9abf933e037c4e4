// The forward convolution as one implicit GEMM, on both sides of the launch.
//
// Rows are (image, output position), columns are output channels k, and the reduction runs over filter taps f
// and input channels c:  M = images * prod(O), N = K, K = C * prod(F). On each axis, output o meets input
//     i = o * stride + f * dilation - left_pad
// at tap f; outside 0 <= i < I the input is zero.
#pragma once

#include "bitgate/conv_shape.hpp"
#include "bitgate/elementwise.hpp"

namespace grouped_fwd {

using bitgate::axes;
using bitgate::ConvShape;
using bitgate::Elementwise;
using bitgate::Strides;

// What an instance may take for granted. A wrong assertion gives wrong bits, so check_specialisation refuses
// it.
enum class Specialisation {
  general,                   // nothing
  filter_1x1_pad_0,          // one tap, and every window lies inside: no bounds to test
  filter_1x1_stride_1_pad_0, // also, output cell o reads input cell o
  odd_c, // nothing; taps and channels make one reduction, so that few channels do not leave tiles mostly
         // empty
};

constexpr bool is_pointwise(Specialisation special) {
  return special == Specialisation::filter_1x1_pad_0 || special == Specialisation::filter_1x1_stride_1_pad_0;
}

struct Axis {
  int32_t input, filter, output;
  int32_t stride, dilation, left_pad;
};

struct Geometry {
  int32_t images; // of one chunk
  int32_t k, c;
  Axis axis[axes];
  int32_t unused;
  Strides x, w, y, d;
  Elementwise op;
};

BITGATE_HD inline int64_t rows_of(const Geometry& geometry) {
  return static_cast<int64_t>(geometry.images) * geometry.axis[0].output * geometry.axis[1].output *
         geometry.axis[2].output;
}

BITGATE_HD inline int32_t taps_of(const Geometry& geometry) {
  return geometry.axis[0].filter * geometry.axis[1].filter * geometry.axis[2].filter;
}

// Row m: an image of the chunk and an output position on each axis.
struct Row {
  int32_t image;
  int32_t position[axes];
};

BITGATE_HD inline Row row_at(const Geometry& geometry, int64_t m) {
  Row row;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int32_t length = geometry.axis[axis].output;
    row.position[axis] = static_cast<int32_t>(m % length);
    m /= length;
  }
  row.image = static_cast<int32_t>(m);
  return row;
}

// The row `rows` further on. In 32 bits: a GPU takes four times as long for row_at's divisions.
BITGATE_HD __forceinline__ void advance(const Geometry& geometry, Row& row, int rows) {
  auto carry = static_cast<uint32_t>(rows);
  for (int axis = axes - 1; axis >= 0; --axis) {
    const auto length = static_cast<uint32_t>(geometry.axis[axis].output);
    const uint32_t position = static_cast<uint32_t>(row.position[axis]) + carry;
    row.position[axis] = static_cast<int32_t>(position % length);
    carry = position / length;
  }
  row.image += static_cast<int32_t>(carry);
}

// The input coordinate that an output position meets at tap 0; it may lie in the padding.
template <Specialisation special>
BITGATE_HD __forceinline__ int32_t input_at(const Axis& axis, int32_t position) {
  if constexpr (special == Specialisation::filter_1x1_stride_1_pad_0)
    return position;
  else if constexpr (special == Specialisation::filter_1x1_pad_0)
    return position * axis.stride;
  else
    return position * axis.stride - axis.left_pad;
}

// One tap: how far it moves x and w.
struct Tap {
  int32_t shift[axes]; // x cells, per axis
  int64_t x_offset, w_offset;
};

BITGATE_HD __forceinline__ Tap tap_at(const Geometry& geometry, const int32_t (&f)[axes]) {
  Tap tap{{}, 0, 0};
  for (int axis = 0; axis < axes; ++axis) {
    tap.shift[axis] = f[axis] * geometry.axis[axis].dilation;
    tap.x_offset += tap.shift[axis] * geometry.x.spatial[axis];
    tap.w_offset += f[axis] * geometry.w.spatial[axis];
  }
  return tap;
}

BITGATE_HD __forceinline__ int32_t steps_of(int32_t terms, int32_t tile_k) {
  return terms / tile_k + (terms % tile_k != 0);
}

// Where index r of the merged reduction stands: channels fastest, then taps, the last axis first.
struct Term {
  int32_t f[axes];
  int32_t c;
  bool inside;
};

BITGATE_HD __forceinline__ Term term_at(const Geometry& geometry, int32_t r) {
  Term term{{}, r % geometry.c, r < geometry.c * taps_of(geometry)};
  int32_t rest = r / geometry.c;
  for (int axis = axes - 1; axis >= 0; --axis) {
    term.f[axis] = rest % geometry.axis[axis].filter;
    rest /= geometry.axis[axis].filter;
  }
  return term;
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

inline Geometry make_geometry(const ConvShape& shape, int64_t images, const Elementwise& op,
                              const Strides& d) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  Geometry geometry{};
  geometry.images = narrow(images);
  geometry.k = narrow(shape.k);
  geometry.c = narrow(shape.c);
  for (int axis = 0; axis < axes; ++axis)
    geometry.axis[axis] = {narrow(shape.input[axis]),    narrow(shape.filter[axis]),
                           narrow(shape.output[axis]),   narrow(shape.stride[axis]),
                           narrow(shape.dilation[axis]), narrow(shape.left_pad[axis])};
  geometry.x = shape.x, geometry.w = shape.w, geometry.y = shape.y, geometry.d = d;
  geometry.op = op;
  return geometry;
}

} // namespace grouped_fwd
