// The rows, terms and columns of an implicit GEMM, as the cells of a convolution that they stand for. For any
// geometry with `images` and `axis`, whose axes say by range_of(axis) which positions they have; columns need
// `c` and filters too.
#pragma once

#include "bitgate/implicit_gemm/axis.hpp"

namespace bitgate::implicit_gemm {

// Positions begin <= p < begin + length.
struct Range {
  int32_t begin, length;
};

BITGATE_HD __forceinline__ constexpr Range range_of(const Axis& axis) {
  return {0, axis.output};
}

// An image and a position on each axis.
struct Row {
  int32_t image;
  int32_t position[axes];
};

template <class Geometry> BITGATE_HD inline int64_t rows_of(const Geometry& geometry) {
  return static_cast<int64_t>(geometry.images) * range_of(geometry.axis[0]).length *
         range_of(geometry.axis[1]).length * range_of(geometry.axis[2]).length;
}

// The rows that there are from one on, at most `most`.
template <class Geometry>
BITGATE_HD __forceinline__ int32_t rows_from(const Geometry& geometry, int64_t first, int32_t most) {
  const int64_t rest = rows_of(geometry) - first;
  return rest < most ? static_cast<int32_t>(rest) : most;
}

// How far apart rows lie whose cells follow each other evenly, so that row m lies at m times that; else 0.
// `image` and `position` are elements from one to the next.
template <class Geometry>
BITGATE_HD constexpr int64_t even_rows(const Geometry& geometry, int64_t image,
                                       const int64_t (&position)[axes]) {
  int64_t rows = 1, apart = 0;
  bool is_even = true;
  const auto follow = [&](int64_t length, int64_t stride) {
    if (length == 1)
      return;
    apart = rows == 1 ? stride : apart;
    is_even &= stride == rows * apart;
    rows *= length;
  };
  for (int axis = axes - 1; axis >= 0; --axis)
    follow(range_of(geometry.axis[axis]).length, position[axis]);
  follow(geometry.images, image);
  return is_even ? apart : 0;
}

// Row m: the last axis is fastest. GPUs divide 64 bits step by step, 32 bits several times as fast.
template <class Geometry, class Index> BITGATE_HD inline Row row_at(const Geometry& geometry, Index m) {
  if constexpr (sizeof(Index) > sizeof(int32_t))
    if (m <= INT32_MAX)
      return row_at(geometry, static_cast<int32_t>(m));
  Row row;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const Range range = range_of(geometry.axis[axis]);
    row.position[axis] = range.begin + static_cast<int32_t>(m % range.length);
    m /= range.length;
  }
  row.image = static_cast<int32_t>(m);
  return row;
}

// A number of rows as the digits by which a row moves on, image and positions; these begin at 0.
template <class Geometry> BITGATE_HD inline Row digits_of(const Geometry& geometry, int rows) {
  Row digits = row_at(geometry, rows);
  for (int axis = 0; axis < axes; ++axis)
    digits.position[axis] -= range_of(geometry.axis[axis]).begin;
  return digits;
}

// The row so many further on, without a division: threads go on by the same number again and again.
template <class Geometry>
BITGATE_HD __forceinline__ void advance(const Geometry& geometry, Row& row, const Row& digits) {
  int32_t carry = 0;
  BITGATE_NO_LOOP(3)
  for (int axis = axes - 1; axis >= 0; --axis) {
    const Range range = range_of(geometry.axis[axis]);
    row.position[axis] += digits.position[axis] + carry;
    carry = row.position[axis] >= range.begin + range.length;
    row.position[axis] -= carry * range.length;
  }
  row.image += digits.image + carry;
}

// A row that goes through a tensor, and where its cell lies there.
struct Walk {
  Row row;
  int64_t offset;
};

// What moves a walk on by a number of rows: in elements, and those that each axis adds where it begins again.
// Rows that lie apart evenly need no positions: each counts as an image.
struct Pace {
  bool is_even;
  int32_t images;
  Row digits;
  int64_t offset;
  int64_t restart[axes];
  bool along_last; // axis alone, until that begins again
};

// `image` and `position` are elements from one to the next.
template <class Geometry>
BITGATE_HD inline Pace pace_of(const Geometry& geometry, int rows, int64_t image,
                               const int64_t (&position)[axes]) {
  Pace pace{false, geometry.images, digits_of(geometry, rows), 0, {}, false};
  pace.offset = pace.digits.image * image;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t before = axis == 0 ? image : position[axis - 1];
    pace.offset += pace.digits.position[axis] * position[axis];
    pace.restart[axis] = before - range_of(geometry.axis[axis]).length * position[axis];
  }
  const Row& digits = pace.digits;
  pace.along_last = (digits.image | digits.position[0] | digits.position[1]) == 0;
  return pace;
}

// The same of rows that lie `apart` evenly, and row m of them.
template <class Geometry>
BITGATE_HD inline Pace even_pace_of(const Geometry& geometry, int rows, int64_t apart) {
  return {true, static_cast<int32_t>(rows_of(geometry)), {rows, {}}, rows * apart, {}, false};
}
BITGATE_HD __forceinline__ Walk even_walk_at(int32_t m, int64_t apart) {
  return {{m, {}}, m * apart};
}

BITGATE_HD __forceinline__ void advance(Walk& walk, const Pace& pace) {
  walk.row.image += pace.digits.image;
  walk.offset += pace.offset;
}

template <class Geometry>
BITGATE_HD __forceinline__ void advance(const Geometry& geometry, Walk& walk, const Pace& pace) {
  int32_t carry = 0;
  walk.offset += pace.offset;
  BITGATE_NO_LOOP(3)
  for (int axis = axes - 1; axis >= 0; --axis) {
    const Range range = range_of(geometry.axis[axis]);
    int32_t& position = walk.row.position[axis];
    position += pace.digits.position[axis] + carry;
    carry = position >= range.begin + range.length;
    position -= carry ? range.length : 0;
    walk.offset += carry ? pace.restart[axis] : 0;
    if (branches_are_cheap && axis == axes - 1 && pace.along_last && !carry)
      return;
  }
  walk.row.image += pace.digits.image + carry;
}

// A filter tap, and a channel in it.
struct Column {
  int32_t f[axes];
  int32_t c;
};

template <class Geometry> BITGATE_HD inline int32_t taps_of(const Geometry& geometry) {
  return geometry.axis[0].filter * geometry.axis[1].filter * geometry.axis[2].filter;
}

// Column n: channels fastest, then taps, the last axis first.
template <class Geometry> BITGATE_HD __forceinline__ Column column_at(const Geometry& geometry, int32_t n) {
  Column column{{}, n % geometry.c};
  int32_t rest = n / geometry.c;
  for (int axis = axes - 1; axis >= 0; --axis) {
    column.f[axis] = rest % geometry.axis[axis].filter;
    rest /= geometry.axis[axis].filter;
  }
  return column;
}

// The column so many further on, the first filter axis without an end.
template <class Geometry>
BITGATE_HD __forceinline__ void advance(const Geometry& geometry, Column& column, const Column& digits) {
  column.c += digits.c;
  int32_t carry = column.c >= geometry.c;
  column.c -= carry ? geometry.c : 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int32_t filter = geometry.axis[axis].filter;
    column.f[axis] += digits.f[axis] + carry;
    carry = axis > 0 && column.f[axis] >= filter;
    column.f[axis] -= carry ? filter : 0;
  }
}

// ---- where they lie

BITGATE_HD __forceinline__ Cell cell_of(int64_t group, int64_t row, const int32_t (&at)[axes]) {
  return {group, row, 0, {at[0], at[1], at[2]}};
}

} // namespace bitgate::implicit_gemm
