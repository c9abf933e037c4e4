// The forward convolution as one implicit GEMM, on both sides of the launch.
//
// Rows are (image, output position), columns are output channels k, and the reduction runs over filter taps f
// and input channels c:  M = images * prod(O), N = K, K = C * prod(F).
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/implicit_gemm/rows.hpp"

namespace grouped_fwd {

using namespace bitgate::implicit_gemm;
using bitgate::axes;
using bitgate::ceil_div;
using bitgate::Cell;
using bitgate::ConvShape;
using bitgate::Elementwise;
using bitgate::Layout;
using bitgate::offset_of;

struct Geometry {
  int32_t images; // of one chunk
  int32_t k, c;
  Axis axis[axes];
  int32_t unused;
  Layout x, w, y, d;
  // How far apart rows lie evenly (even_rows): in x of one tap that neither strides nor pads, and in y.
  int64_t apart_x, apart_y;
  Elementwise op;
};

// One tap: how far it moves x and w.
struct Tap {
  int32_t shift[axes]; // x cells, per axis
  int64_t x_offset, w_offset;
};

BITGATE_HD __forceinline__ Tap tap_at(const Geometry& geometry, const int32_t (&f)[axes]) {
  Tap tap;
  for (int axis = 0; axis < axes; ++axis)
    tap.shift[axis] = f[axis] * geometry.axis[axis].dilation;
  tap.x_offset = offset_of(geometry.x, cell_of(0, 0, tap.shift));
  tap.w_offset = offset_of(geometry.w, cell_of(0, 0, f));
  return tap;
}

BITGATE_HD __forceinline__ int32_t steps_of(int32_t terms, int32_t tile_k) {
  return terms / tile_k + (terms % tile_k != 0);
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

inline Geometry make_geometry(const ConvShape& shape, int64_t images, const Elementwise& op,
                              const Layout& d) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  Geometry geometry{};
  geometry.images = narrow(images);
  geometry.k = narrow(shape.k);
  geometry.c = narrow(shape.c);
  for (int axis = 0; axis < axes; ++axis)
    geometry.axis[axis] = axis_of(shape, axis);
  geometry.x = shape.x, geometry.w = shape.w, geometry.y = shape.y, geometry.d = d;
  geometry.op = op;
  bool is_pointwise = true;
  for (const Axis& axis : geometry.axis)
    is_pointwise &= is_identity(axis);
  geometry.apart_x = is_pointwise ? even_rows(geometry, geometry.x.row, geometry.x.spatial) : 0;
  geometry.apart_y = even_rows(geometry, geometry.y.row, geometry.y.spatial);
  return geometry;
}

} // namespace grouped_fwd
