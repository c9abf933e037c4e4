// Into how many slices a reduction is cut: as asked, or for a device that is to be filled.
#pragma once

#include "bitgate/launch.hpp"
#include "bitgate/options.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

inline constexpr int64_t most_slices = 128; // of an automatic split: more lose accuracy

// CK's rule: as many slices as fill `capacity` blocks with `grid` blocks each, but no more than the reduction
// has whole steps, nor than most_slices.
inline int64_t automatic_split_k(int64_t capacity, int64_t grid, int64_t terms, int64_t tile_k) {
  int64_t slices = grid > 0 ? capacity / grid : 1;
  const int64_t steps = (terms - 1 + tile_k - 1) / tile_k;
  slices = slices < steps ? slices : steps;
  slices = slices < most_slices ? slices : most_slices;
  return slices > 1 ? slices : 1;
}

// Blocks of `kernel`, launched with so much LDS, that the device runs at once: compute units times blocks on
// each. The options cu_count and occupancy say so instead, where they are not 0.
inline int64_t capacity_of(Context& context, const Options& options, const void* kernel, int block,
                           size_t lds_bytes) {
  int device = 0, units = 0, blocks = 0;
  const auto ask = [&](hipError_t error) {
    if (context.error == hipSuccess)
      context.error = error;
  };
  ask(hipGetDevice(&device));
  ask(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
  ask(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, lds_bytes));
  const int64_t stated_units = options.integer("cu_count"), stated_blocks = options.integer("occupancy");
  return (stated_units > 0 ? stated_units : units) * (stated_blocks > 0 ? stated_blocks : blocks);
}

// The options of every family of backward weight.
inline constexpr Option split_k_options[] = {
    {"cu_count", "int", "0", "compute units that an automatic split-K fills; 0: those of the device", 0,
     1 << 20},
    {"occupancy", "int", "0",
     "blocks of a compute unit that an automatic split-K counts on; 0: as the runtime says", 0, 1 << 10},
};

} // namespace bitgate::implicit_gemm::bwd_weight
