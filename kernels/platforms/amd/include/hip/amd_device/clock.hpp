// The cycles of a compute unit's clock, in 64 bits; on gfx11 only the lower 20 of them are told.
#pragma once

__device__ __forceinline__ long long clock64() {
  return static_cast<long long>(__builtin_readcyclecounter());
}
