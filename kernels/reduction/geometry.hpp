// Where the elements of x and the results lie, and which part of a row a block has.
#pragma once

#include "bitgate/grid.hpp"

namespace reduction {

using bitgate::ceil_div;

// What a kernel is told; strides in elements. A result is counted as outer * inner + i.
struct Geometry {
  int64_t outer, length, inner;
  int64_t x_outer, x_length, x_inner;
  int64_t y_outer, y_inner;
  int64_t index_outer, index_inner;
  int64_t slice; // cells of a row in a slice; the last ones have fewer, or none
  int32_t slices;
};

BITGATE_HD inline int64_t results_of(const Geometry& geometry) {
  return geometry.outer * geometry.inner;
}

// Cells begin <= l < end of each row.
struct Slice {
  int64_t begin, end;
};

BITGATE_HD inline Slice slice_of(const Geometry& geometry, unsigned number) {
  const int64_t begin = geometry.slice * number, end = begin + geometry.slice;
  return {begin, end < geometry.length ? end : geometry.length};
}

// x[o,0,i] of a result.
template <class Element>
BITGATE_HD inline const Element* row_of(const Element* x, const Geometry& geometry, int64_t result) {
  return x + result / geometry.inner * geometry.x_outer + result % geometry.inner * geometry.x_inner;
}

// y[o,i] of a result, and its index where there is one.
template <class Kind>
BITGATE_HD inline void store(typename Kind::Carry carry, typename Kind::Result* y, int32_t* index,
                             const Geometry& geometry, int64_t result) {
  const int64_t o = result / geometry.inner, i = result % geometry.inner;
  Kind::store(carry, y + o * geometry.y_outer + i * geometry.y_inner,
              index + o * geometry.index_outer + i * geometry.index_inner);
}

// What a slice of a row came to: the result, or one of several parts, which meet in the workspace.
template <class Kind>
__device__ inline void deliver(typename Kind::Carry carry, typename Kind::Result* y, int32_t* index,
                               typename Kind::Carry* partials, const Geometry& geometry, int64_t result) {
  if (geometry.slices > 1)
    Kind::meet(partials + result, carry);
  else
    store<Kind>(carry, y, index, geometry, result);
}

} // namespace reduction
