// threadIdx and its kin. Constants for a kernel: a GPU thread never sees them change, so the compiler may
// keep them across a barrier. All threads of a block run on one OS thread, so their addresses stay right as
// well.
#pragma once

#include "hip/host_detail/abi.hpp"

BITGATE_THREAD_VARIABLE(const uint3, threadIdx);
BITGATE_THREAD_VARIABLE(const uint3, blockIdx);
BITGATE_THREAD_VARIABLE(const dim3, blockDim);
BITGATE_THREAD_VARIABLE(const dim3, gridDim);
BITGATE_THREAD_VARIABLE(const int, warpSize);
