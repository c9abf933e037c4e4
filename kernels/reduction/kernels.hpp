// Three ways to reduce a row x[o,:,i], and what finishes rows that were cut into slices.
//
//   block    a block has a row: each thread combines every block-th cell, waves combine their lanes by
//            shuffles, and one wave what the waves left in LDS
//   wave     each wave of a block has a row of its own: no LDS, no barrier
//   columns  a block has `wave` neighbouring rows (lanes along the inner axis, so that they read neighbouring
//            cells) and block / wave cells of each at once, which meet in LDS
//
// blockIdx.y is the slice of the rows. Blocks take further rows in turn where the grid is smaller than there
// are rows. Strides are any; offsets are 64-bit.
#pragma once

#include "bitgate/lds.hpp"
#include "geometry.hpp"
#include "kinds.hpp"

namespace reduction {

inline constexpr int block = 256;

// Over the lanes of a wave; each lane gets the result.
template <class Kind, int wave>
__device__ inline typename Kind::Partial over_wave(typename Kind::Partial partial) {
  for (int distance = wave / 2; distance > 0; distance /= 2)
    partial = Kind::combine(partial, __shfl_xor(partial, distance));
  return partial;
}

// Over cells first, first + step, ... of a slice of the row.
template <class Kind>
__device__ inline typename Kind::Partial
over_cells(const typename Kind::Element* row, const Geometry& geometry, Slice slice, int first, int step) {
  typename Kind::Partial partial = Kind::identity();
  for (int64_t l = slice.begin + first; l < slice.end; l += step)
    partial = Kind::combine(partial, Kind::lift(row[offset_of(geometry.x, {.row = l})], l));
  return partial;
}

template <class Partial, int waves> struct OfWaves {
  Partial at[waves];
};

// Over the threads of a block; thread 0 gets the result. `lds` may be used again at once.
template <class Kind, int wave, class Lds>
__device__ inline typename Kind::Partial over_block(typename Kind::Partial partial, Lds& lds) {
  constexpr int waves = block / wave;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % wave;
  partial = over_wave<Kind, wave>(partial);
  if (lane == 0)
    lds.at[thread / wave] = partial;
  __syncthreads(); // all waves have written
  if (thread < wave)
    partial = over_wave<Kind, wave>(lane < waves ? lds.at[lane] : Kind::identity());
  __syncthreads(); // the first wave has read
  return partial;
}

template <class Kind, int wave>
__global__ void __launch_bounds__(block)
    kernel_block(const typename Kind::Element* x, typename Kind::Result* y, int32_t* index,
                 typename Kind::Partial* partials, Geometry geometry) {
  using Lds = OfWaves<typename Kind::Partial, block / wave>;
  BITGATE_LDS(Lds, lds);
  const Slice slice = slice_of(geometry, blockIdx.y);
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t result = blockIdx.x; result < results_of(geometry); result += gridDim.x) {
    const auto* const row = row_of(x, geometry, result);
    const auto own = over_cells<Kind>(row, geometry, slice, thread, block);
    const auto partial = over_block<Kind, wave>(own, lds);
    if (thread == 0)
      store_partial<Kind>(partial, y, index, partials, geometry, result);
  }
}

template <class Kind, int wave>
__global__ void __launch_bounds__(block)
    kernel_wave(const typename Kind::Element* x, typename Kind::Result* y, int32_t* index,
                typename Kind::Partial* partials, Geometry geometry) {
  constexpr int waves = block / wave;
  const Slice slice = slice_of(geometry, blockIdx.y);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % wave;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * waves + thread / wave;
  for (int64_t result = first; result < results_of(geometry);
       result += static_cast<int64_t>(gridDim.x) * waves) {
    const auto* const row = row_of(x, geometry, result);
    const auto partial = over_wave<Kind, wave>(over_cells<Kind>(row, geometry, slice, lane, wave));
    if (lane == 0)
      store_partial<Kind>(partial, y, index, partials, geometry, result);
  }
}

template <class Partial, int rows, int columns> struct OfColumns {
  Partial at[rows][columns];
};

template <class Kind, int wave>
__global__ void __launch_bounds__(block)
    kernel_columns(const typename Kind::Element* x, typename Kind::Result* y, int32_t* index,
                   typename Kind::Partial* partials, Geometry geometry) {
  constexpr int columns = wave, steps = block / wave;
  using Lds = OfColumns<typename Kind::Partial, steps, columns>;
  BITGATE_LDS(Lds, lds);
  const Slice slice = slice_of(geometry, blockIdx.y);
  const int column = static_cast<int>(threadIdx.x) % columns, step = static_cast<int>(threadIdx.x) / columns;
  const int64_t tiles = ceil_div(geometry.inner, columns);
  for (int64_t tile = blockIdx.x; tile < geometry.outer * tiles; tile += gridDim.x) {
    const int64_t o = tile / tiles, i = tile % tiles * columns + column;
    auto partial = Kind::identity();
    if (i < geometry.inner) {
      const auto* const row = x + offset_of(geometry.x, {o, 0, i});
      partial = over_cells<Kind>(row, geometry, slice, step, steps);
    }
    lds.at[step][column] = partial;
    __syncthreads(); // all steps have written
    if (step == 0 && i < geometry.inner) {
      for (int other = 1; other < steps; ++other)
        partial = Kind::combine(partial, lds.at[other][column]);
      store_partial<Kind>(partial, y, index, partials, geometry, o * geometry.inner + i);
    }
    __syncthreads(); // the first step has read
  }
}

// The results of rows whose slices have met in the workspace.
template <class Kind>
__global__ void __launch_bounds__(block)
    kernel_finish(const typename Kind::Partial* partials, typename Kind::Result* y, int32_t* index,
                  Geometry geometry) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * block;
  for (int64_t result = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x; result < results_of(geometry);
       result += stride)
    store<Kind>(partials[result], y, index, geometry, result);
}

} // namespace reduction
