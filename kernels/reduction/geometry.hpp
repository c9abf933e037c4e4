// Where the elements of x and the results lie, and which part of a row a block has.
#pragma once

#include "bitgate/grid.hpp"
#include "bitgate/layout.hpp"

namespace reduction {

using bitgate::ceil_div;
using bitgate::Layout;
using bitgate::offset_of;

// What a kernel is given. Groups are along the outer axis, columns along the inner one; rows of x along the
// axis that is reduced. A result is counted as outer * inner + i.
struct Geometry {
  int64_t outer, length, inner;
  Layout x, y, index;
  int64_t slice; // cells of a row in a slice; the last ones have fewer, or none
  int32_t slices;
  int32_t unused = 0; // bytes without a name hold what lay on the stack: no two launches would be alike
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
  return x + offset_of(geometry.x, {result / geometry.inner, 0, result % geometry.inner});
}

// y[o,i] of a result, and its index where there is one.
template <class Kind>
BITGATE_HD inline void store(typename Kind::Partial partial, typename Kind::Result* y, int32_t* index,
                             const Geometry& geometry, int64_t result) {
  const int64_t o = result / geometry.inner, i = result % geometry.inner;
  Kind::store(partial, y + offset_of(geometry.y, {o, 0, i}), index + offset_of(geometry.index, {o, 0, i}));
}

// What a slice of a row came to: the result, or one of several parts, which meet in the workspace.
template <class Kind>
__device__ inline void store_partial(typename Kind::Partial partial, typename Kind::Result* y, int32_t* index,
                                     typename Kind::Partial* partials, const Geometry& geometry,
                                     int64_t result) {
  if (geometry.slices > 1)
    Kind::atomic_combine(partials + result, partial);
  else
    store<Kind>(partial, y, index, geometry, result);
}

} // namespace reduction
