// What comes before and after the GEMM of a split or two-stage reduction: clearing dw, and turning a
// workspace of floats into dw. One thread a cell at a time, by strides, so that the gaps of a strided dw stay
// untouched.
#pragma once

#include "geometry.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

inline constexpr int cell_block = 256;
inline constexpr int64_t max_cell_blocks = 1024;

struct Cells {
  int64_t count, columns;
  Geometry geometry;
};

// Offsets of cell `index` of [g][k][tap][c] in dw and in d.
BITGATE_HD __forceinline__ void offsets_of(const Cells& cells, int64_t index, int64_t& w_offset,
                                           int64_t& d_offset) {
  const Geometry& geometry = cells.geometry;
  const Column column = column_at(geometry, static_cast<int32_t>(index % cells.columns));
  const int64_t row = index / cells.columns, k = row % geometry.k, group = row / geometry.k;
  w_offset = group * geometry.w.group + k * geometry.w.row + column.c;
  d_offset = group * geometry.d.group + k * geometry.d.row + column.c * geometry.d.column;
  for (int axis = 0; axis < axes; ++axis) {
    w_offset += column.f[axis] * geometry.w.spatial[axis];
    d_offset += column.f[axis] * geometry.d.spatial[axis];
  }
}

template <class T> __global__ void __launch_bounds__(cell_block) kernel_clear(T* dw, Cells cells) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * cell_block + threadIdx.x; i < cells.count;
       i += static_cast<int64_t>(gridDim.x) * cell_block) {
    int64_t w_offset, d_offset;
    offsets_of(cells, i, w_offset, d_offset);
    dw[w_offset] = Number<T>::narrow(0);
  }
}

// dw = op(sum, d): once, after the whole reduction.
template <class T>
__global__ void __launch_bounds__(cell_block)
    kernel_finish(const float* workspace, const T* d, T* dw, Cells cells) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * cell_block + threadIdx.x; i < cells.count;
       i += static_cast<int64_t>(gridDim.x) * cell_block) {
    int64_t w_offset, d_offset;
    offsets_of(cells, i, w_offset, d_offset);
    dw[w_offset] = finish(workspace[i], cells.geometry.op, d + d_offset);
  }
}

} // namespace bitgate::implicit_gemm::bwd_weight
