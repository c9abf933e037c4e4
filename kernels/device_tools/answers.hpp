// What kernels answer: 64-bit words in device memory that were cleared before, into which blocks add their
// values. A largest or least value is kept as a maximum, so that zero means that there was none.
#pragma once

#include "bitgate/lds.hpp"
#include "bitgate/number.hpp"
#include "cells.hpp"

namespace device_tools {

using Word = unsigned long long; // what atomics of every platform take

// Least index among answers: stored as its complement under a maximum. 0: none.
BITGATE_HD inline Word as_least(int64_t index) {
  return ~static_cast<Word>(index);
}

struct BlockValues {
  Word of_thread[block_size];
};

// The combination of all threads' values, in thread 0. Every thread of the block has to come here.
template <class Combine> __device__ inline Word over_block(Word value, Combine combine) {
  BITGATE_LDS(BlockValues, values);
  const unsigned thread = threadIdx.x;
  values.of_thread[thread] = value;
  __syncthreads();
  for (unsigned half = block_size / 2; half > 0; half /= 2) {
    if (thread < half)
      values.of_thread[thread] = combine(values.of_thread[thread], values.of_thread[thread + half]);
    __syncthreads();
  }
  const Word whole = values.of_thread[0];
  __syncthreads(); // the next call writes to the same place
  return whole;
}

__device__ inline void add_answer(Word* answer, Word value) {
  const Word whole = over_block(value, [](Word a, Word b) { return a + b; });
  if (threadIdx.x == 0 && whole != 0)
    atomicAdd(answer, whole);
}

__device__ inline void max_answer(Word* answer, Word value) {
  const Word whole = over_block(value, [](Word a, Word b) { return a > b ? a : b; });
  if (threadIdx.x == 0 && whole != 0)
    atomicMax(answer, whole);
}

// The number that a cell's bits stand for. `bytes` holds the 256 values of a one-byte type.
template <class Bits> BITGATE_HD inline double number_of(Bits bits, int32_t dtype, const float* bytes) {
  if constexpr (sizeof(Bits) == 1)
    return bytes[bits];
  else if constexpr (sizeof(Bits) == 2)
    return dtype == BITGATE_F16 ? bitgate::widen(bitgate::f16{bits}) : bitgate::widen(bitgate::bf16{bits});
  else if constexpr (sizeof(Bits) == 4)
    return dtype == BITGATE_F32 ? static_cast<double>(bitgate::bits_as<float>(bits))
                                : static_cast<double>(static_cast<int32_t>(bits));
  else
    return bitgate::bits_as<double>(bits);
}

} // namespace device_tools
