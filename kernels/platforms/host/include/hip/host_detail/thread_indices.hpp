// threadIdx and its kin. Constants for a kernel: a GPU thread never sees them change. All threads of a block
// run on one OS thread, so their addresses stay right across a barrier.
#pragma once

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {
// The compiler may keep a constant across anything, so also from one thread to the next where a kernel is
// inlined into the loop over its threads. A mutable member, of no size, says that this one changes.
struct ThreadIndex : uint3 {
private:
  struct Nothing {};
  [[no_unique_address]] mutable Nothing changes;
};
static_assert(sizeof(ThreadIndex) == sizeof(uint3));

// What dim3 is not, as it has a constructor: a constant that the compiler reads once for all threads.
struct Extent : uint3 {
  operator dim3() const { return {x, y, z}; }
};
static_assert(sizeof(Extent) == sizeof(dim3));
} // namespace bitgate_host

BITGATE_THREAD_VARIABLE(const bitgate_host::ThreadIndex, threadIdx);
BITGATE_THREAD_VARIABLE(const uint3, blockIdx);
BITGATE_THREAD_VARIABLE(const bitgate_host::Extent, blockDim);
BITGATE_THREAD_VARIABLE(const bitgate_host::Extent, gridDim);
BITGATE_THREAD_VARIABLE(const int, warpSize);
