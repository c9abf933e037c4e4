// What dx holds where no sub-GEMM writes: op(0, d). Classes without a tap, residues that no tap reaches and
// trailing cells beyond the last window make such cells, also when there is only one sub-GEMM.
#pragma once

#include "bitgate/elementwise.hpp"
#include "geometry.hpp"

namespace bitgate::implicit_gemm::bwd_data {

inline constexpr int fill_block = 256;
inline constexpr int64_t fill_max_blocks = 1024;

struct FillArguments {
  Geometry geometry;
  int64_t groups, images; // of all chunks
  int32_t only_unowned;   // 1: leave the cells that a sub-GEMM writes alone, because d lies in dx itself
  int32_t unused;
};

// One thread a cell at a time, by strides: the gaps of a strided dx stay untouched.
template <class T>
__global__ void __launch_bounds__(fill_block)
    kernel_fill(const T* cells_of_d, T* dx, FillArguments arguments) {
  const Geometry& geometry = arguments.geometry;
  const DCell<T> d(cells_of_d, geometry.op);
  const int64_t cells = arguments.groups * arguments.images * geometry.c * geometry.axis[0].input *
                        geometry.axis[1].input * geometry.axis[2].input;
  for (int64_t cell = static_cast<int64_t>(blockIdx.x) * fill_block + threadIdx.x; cell < cells;
       cell += static_cast<int64_t>(gridDim.x) * fill_block) {
    int64_t rest = cell / geometry.c;
    Cell at{.column = cell % geometry.c};
    bool owned = true;
    for (int axis = axes - 1; axis >= 0; --axis) {
      at.at[axis] = rest % geometry.axis[axis].input;
      rest /= geometry.axis[axis].input;
      owned = owned && is_owned(geometry.axis[axis], at.at[axis]);
    }
    at.row = rest % arguments.images, at.group = rest / arguments.images;
    if (!owned || arguments.only_unowned == 0)
      dx[offset_of(geometry.dx, at)] = finish(0.0f, geometry.op, d + offset_of(geometry.d, at));
  }
}

} // namespace bitgate::implicit_gemm::bwd_data
