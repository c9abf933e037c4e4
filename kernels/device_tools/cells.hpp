// The cells of a tensor as the harness' own kernels walk over them: in memory order, so that neighbouring
// threads touch neighbouring cells, each with its logical index, on which its value and its part of the
// digest depend. Everything is 64-bit: tensors may pass 2^31 elements and 2^32 bytes.
#pragma once

#include "bitgate/launch.hpp"

namespace device_tools {

inline constexpr int max_axes = 6; // of a tensor, those that continue each other being one
inline constexpr int block_size = 256;
inline constexpr int64_t max_blocks = 8192; // a grid's stride covers the rest
inline constexpr int64_t cells_a_thread = 8;

// One axis: how far a step goes in memory and in logical order, in elements.
struct Axis {
  int64_t length, stride, logical;
};

// Mirrored by Cells in tools_abi.py. Axes stand fastest first; those that continue each other are one.
struct Cells {
  Axis axis[max_axes];
  int64_t count;
  int32_t rank;
  int32_t element_bytes;
  int32_t dtype; // enum bitgate_dtype
  int32_t reserved;
};

struct Place {
  int64_t offset, logical;
};

struct Split {
  int64_t quotient, remainder;
};

// value / by, both not negative. 32-bit division is several times as fast on a GPU, and mostly enough.
BITGATE_HD inline Split split(int64_t value, int64_t by) {
  if (((value | by) >> 32) == 0) {
    const uint32_t v = static_cast<uint32_t>(value), b = static_cast<uint32_t>(by), quotient = v / b;
    return {quotient, v - quotient * b};
  }
  const int64_t quotient = value / by;
  return {quotient, value - quotient * by};
}

BITGATE_HD inline Place place_of(const Cells& cells, int64_t index) {
  Place place{0, 0};
  for (int i = 0; i < cells.rank; ++i) {
    const Axis& axis = cells.axis[i];
    const Split at = split(index, axis.length);
    place.offset += at.remainder * axis.stride;
    place.logical += at.remainder * axis.logical;
    index = at.quotient;
  }
  return place;
}

// Blocks for so many cells, in a grid or in a row of one.
BITGATE_HD inline int64_t blocks_for(int64_t count) {
  const int64_t shares = (count + block_size * cells_a_thread - 1) / (block_size * cells_a_thread);
  return shares < 1 ? 1 : shares < max_blocks ? shares : max_blocks;
}

// Blocks of this row that share [0, count): the longest row decides how many each has.
__device__ __forceinline__ int64_t sharing(int64_t count) {
  const int64_t blocks = blocks_for(count), row = gridDim.x;
  return blocks < row ? blocks : row;
}

// Has this block no share?
__device__ __forceinline__ bool is_idle(int64_t count) {
  return blockIdx.x >= sharing(count);
}

// body(index) for this thread's share of [0, count).
template <class Body> __device__ __forceinline__ void each(int64_t count, Body body) {
  const int64_t step = sharing(count) * block_size;
  if (!is_idle(count))
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * block_size + threadIdx.x; i < count; i += step)
      body(i);
}

// Launches `kernel` in `rows` rows of blocks, each enough for `count` cells, and returns the HIP error.
template <class... Params, class... Args>
int32_t start_rows(void* stream, const char* name, void (*kernel)(Params...), int64_t count, int64_t rows,
                   const Args&... args) {
  bitgate_dispatch_record record{};
  bitgate::Context context{record, static_cast<hipStream_t>(stream), 0};
  const dim3 grid(static_cast<unsigned>(blocks_for(count)), static_cast<unsigned>(rows));
  bitgate::launch(context, name, kernel, grid, dim3(block_size), 0, args...);
  return static_cast<int32_t>(context.error);
}

// The same in one row.
template <class... Params, class... Args>
int32_t start(void* stream, const char* name, void (*kernel)(Params...), int64_t count, const Args&... args) {
  return start_rows(stream, name, kernel, count, 1, args...);
}

// Calls use(Bits{}) with the unsigned type of that many bytes.
template <class Use> int32_t with_bits(int32_t element_bytes, Use use) {
  switch (element_bytes) {
  case 1:
    return use(uint8_t{});
  case 2:
    return use(uint16_t{});
  case 4:
    return use(uint32_t{});
  case 8:
    return use(uint64_t{});
  default:
    return static_cast<int32_t>(hipErrorInvalidValue);
  }
}

} // namespace device_tools
