// Backward weight as one implicit GEMM, on both sides of the launch.
//
// Rows are output channels k, columns are (filter tap f, input channel c), and the reduction runs over images
// and output positions:  M = K, N = C * prod(F), K = images * prod(O).
//
// Merged groups (depthwise, C = K = 1): one GEMM takes Merge neighbouring groups, as if they were channels.
// Row k and column c are then groups, and only the cells where both are the same group are kept.
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/implicit_gemm/rows.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

struct Geometry {
  int32_t images, k, c; // channels of a group, or merged groups
  int32_t slices;       // split-K
  Axis axis[axes];
  Layout dy, w, x, d;
  // How far apart terms lie evenly (even_rows): in dy, and in x of one tap that neither strides nor pads.
  int64_t apart_dy, apart_x;
  Elementwise op;
};

BITGATE_HD inline int32_t columns_of(const Geometry& geometry) {
  return geometry.c * taps_of(geometry);
}
// Terms of the reduction: rows of dy.
BITGATE_HD inline int32_t terms_of(const Geometry& geometry) {
  return static_cast<int32_t>(rows_of(geometry));
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

// `merge` groups make one GEMM; 1: each has its own.
inline Geometry make_geometry(const ConvShape& shape, int merge, const Elementwise& op, const Layout& d) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  Geometry geometry{};
  geometry.images = narrow(shape.images);
  geometry.k = merge > 1 ? merge : narrow(shape.k);
  geometry.c = merge > 1 ? merge : narrow(shape.c);
  geometry.slices = 1;
  for (int axis = 0; axis < axes; ++axis)
    geometry.axis[axis] = axis_of(shape, axis);
  geometry.dy = shape.y, geometry.w = shape.w, geometry.x = shape.x, geometry.d = d;
  geometry.op = op;
  bool is_pointwise = true;
  for (const Axis& axis : geometry.axis)
    is_pointwise &= is_identity(axis);
  geometry.apart_dy = even_rows(geometry, geometry.dy.row, geometry.dy.spatial);
  geometry.apart_x = is_pointwise ? even_rows(geometry, geometry.x.row, geometry.x.spatial) : 0;
  return geometry;
}

} // namespace bitgate::implicit_gemm::bwd_weight
