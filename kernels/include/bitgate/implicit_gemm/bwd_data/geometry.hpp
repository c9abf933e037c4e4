// How bwd_data splits into sub-GEMMs, on both sides of the launch.
//
// Per axis with g = gcd(stride, dilation): dx cells with the same residue (i + left_pad) mod stride share
// their filter taps. There are T = stride / g classes; class t owns the taps f = t + T * dot, dot < ceil((F -
// t) / T). A window position h of class t touches
//     dx cell  i = h * stride + t * dilation - left_pad     and, for tap dot, dy cell  o = h - (dilation / g)
//     * dot.
// One class of each axis makes one dense sub-GEMM: M = images * prod(window positions), N = C, K = K *
// prod(taps). All sub-GEMMs of a problem have the same window positions and so the same M; only their taps
// differ.
#pragma once

#include <numeric>
#include <vector>

#include "bitgate/elementwise.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/implicit_gemm/rows.hpp"

namespace bitgate::implicit_gemm::bwd_data {

inline constexpr int max_bucket = 32; // sub-GEMMs that one launch takes

struct Axis : implicit_gemm::Axis {
  int32_t classes;       // T
  int32_t step;          // dilation / g: dy cells between the taps of a class
  int32_t begin, length; // window positions
};

// What all sub-GEMMs share.
struct Geometry {
  int32_t images; // of one chunk
  int32_t k, c;
  int32_t split_k; // slices of each reduction
  Axis axis[axes];
  Layout dy, w, dx, d;
  // How far apart rows lie evenly (even_rows): in dy of one tap, and in dx where each row has its cell.
  int64_t apart_dy, apart_dx;
  Elementwise op;
};

// One sub-GEMM of a launch; its blocks are first_block <= block < first_block + blocks.
struct SubGemm {
  int32_t first_block, blocks;
  int32_t tilde[axes]; // class on each axis
  int32_t taps[axes];
};

// The sub-GEMMs of one launch, by value: at most 4 KiB of kernel arguments, and nothing to upload.
struct Bucket {
  int32_t count;
  SubGemm gemms[max_bucket];
};

// Rows are window positions: implicit_gemm::row_at.
BITGATE_HD __forceinline__ Range range_of(const Axis& axis) {
  return {axis.begin, axis.length};
}

// dx coordinate of a window position; it may lie outside the image.
BITGATE_HD inline int64_t dx_coordinate(const Axis& axis, int32_t tilde, int32_t position) {
  return static_cast<int64_t>(position) * axis.stride + static_cast<int64_t>(tilde) * axis.dilation -
         axis.left_pad;
}

BITGATE_HD inline int32_t taps_of(const Axis& axis, int32_t tilde) {
  return tilde < axis.filter ? (axis.filter - tilde + axis.classes - 1) / axis.classes : 0;
}

// Steps of `tile_k` channels that a reduction takes, for one tap and for all of a sub-GEMM.
BITGATE_HD inline int32_t steps_of_tap(const Geometry& geometry, int tile_k) {
  return (geometry.k + tile_k - 1) / tile_k;
}
BITGATE_HD inline int32_t steps_of(const Geometry& geometry, const SubGemm& gemm, int tile_k) {
  return gemm.taps[0] * gemm.taps[1] * gemm.taps[2] * steps_of_tap(geometry, tile_k);
}

// Does a sub-GEMM write this dx coordinate? A cell is written if all its coordinates are.
BITGATE_HD inline bool is_owned(const Axis& axis, int64_t x) {
  for (int32_t tilde = 0; tilde < axis.classes && tilde < axis.filter; ++tilde) {
    const int64_t offset = x + axis.left_pad - static_cast<int64_t>(tilde) * axis.dilation;
    if (offset < 0 || offset % axis.stride != 0)
      continue;
    const int64_t position = offset / axis.stride;
    if (position >= axis.begin && position < static_cast<int64_t>(axis.begin) + axis.length)
      return true;
  }
  return false;
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

inline Axis make_axis(const ConvShape& shape, int axis) {
  const int64_t stride = shape.stride[axis], dilation = shape.dilation[axis], pad = shape.left_pad[axis];
  const int64_t common = std::gcd(stride, dilation), classes = stride / common;
  const int64_t all_positions = shape.output[axis] + ceil_div(dilation * (shape.filter[axis] - 1), stride);
  const int64_t reach = pad - dilation * (classes - 1);
  const int64_t begin = (reach > 0 ? reach : 0) / stride;
  const int64_t last = ceil_div(pad + shape.input[axis] - 1, stride) + 1;
  const int64_t end = all_positions < last ? all_positions : last;
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(value); };
  return {{narrow(shape.input[axis]), narrow(shape.filter[axis]), narrow(shape.output[axis]), narrow(stride),
           narrow(dilation), narrow(pad)},
          narrow(classes),
          narrow(dilation / common),
          narrow(begin),
          narrow(end > begin ? end - begin : 0)};
}

inline Geometry make_geometry(const ConvShape& shape, int64_t images, int split_k, const Elementwise& op,
                              const Layout& d) {
  Geometry geometry{};
  geometry.images = static_cast<int32_t>(images);
  geometry.split_k = split_k;
  geometry.k = static_cast<int32_t>(shape.k);
  geometry.c = static_cast<int32_t>(shape.c);
  for (int axis = 0; axis < axes; ++axis)
    geometry.axis[axis] = make_axis(shape, axis);
  geometry.dy = shape.y, geometry.w = shape.w, geometry.dx = shape.x, geometry.d = d;
  geometry.op = op;
  bool is_each_dy = true, is_each_dx = true;
  for (const Axis& axis : geometry.axis) {
    is_each_dy &= axis.filter == 1 && axis.begin == 0 && axis.length == axis.output;
    is_each_dx &= axis.stride == 1 && axis.begin == axis.left_pad && axis.length == axis.input;
  }
  geometry.apart_dy = is_each_dy ? even_rows(geometry, geometry.dy.row, geometry.dy.spatial) : 0;
  geometry.apart_dx = is_each_dx ? even_rows(geometry, geometry.dx.row, geometry.dx.spatial) : 0;
  return geometry;
}

// How many sub-GEMMs there are: the classes that have a tap.
inline int64_t count_gemms(const ConvShape& shape) {
  int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t classes = shape.stride[axis] / std::gcd(shape.stride[axis], shape.dilation[axis]);
    count *= classes < shape.filter[axis] ? classes : shape.filter[axis];
  }
  return count;
}

// The sub-GEMMs in host order (last axis fastest). A class without a tap makes none: an empty GEMM is not
// launched.
inline std::vector<SubGemm> sub_gemms(const Geometry& geometry) {
  const Axis(&axis)[axes] = geometry.axis;
  std::vector<SubGemm> gemms;
  for (int32_t z = 0; z < axis[0].classes; ++z)
    for (int32_t y = 0; y < axis[1].classes; ++y)
      for (int32_t x = 0; x < axis[2].classes; ++x) {
        const SubGemm gemm{0, 0, {z, y, x}, {taps_of(axis[0], z), taps_of(axis[1], y), taps_of(axis[2], x)}};
        if (gemm.taps[0] * gemm.taps[1] * gemm.taps[2] > 0)
          gemms.push_back(gemm);
      }
  return gemms;
}

} // namespace bitgate::implicit_gemm::bwd_data
