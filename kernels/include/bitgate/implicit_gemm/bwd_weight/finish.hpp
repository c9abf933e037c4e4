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

// Cell `index` of [g][k][tap][c].
BITGATE_HD __forceinline__ Cell cell_at(const Cells& cells, int64_t index) {
  const Geometry& geometry = cells.geometry;
  const Column column = column_at(geometry, static_cast<int32_t>(index % cells.columns));
  const int64_t row = index / cells.columns;
  Cell cell = cell_of(row / geometry.k, row % geometry.k, column.f);
  cell.column = column.c;
  return cell;
}

template <class T> __global__ void __launch_bounds__(cell_block) kernel_clear(T* dw, Cells cells) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * cell_block + threadIdx.x; i < cells.count;
       i += static_cast<int64_t>(gridDim.x) * cell_block) {
    dw[offset_of(cells.geometry.w, cell_at(cells, i))] = Number<T>::narrow(0);
  }
}

// dw = op(sum, d): once, after the whole reduction.
template <class T>
__global__ void __launch_bounds__(cell_block)
    kernel_finish(const float* workspace, const T* cells_of_d, T* dw, Cells cells) {
  const DCell<T> d(cells_of_d, cells.geometry.op);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * cell_block + threadIdx.x; i < cells.count;
       i += static_cast<int64_t>(gridDim.x) * cell_block) {
    const Cell at = cell_at(cells, i);
    dw[offset_of(cells.geometry.w, at)] =
        finish(workspace[i], cells.geometry.op, d + offset_of(cells.geometry.d, at));
  }
}

} // namespace bitgate::implicit_gemm::bwd_weight
