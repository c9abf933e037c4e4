// threadIdx and its kin as the runtime writes them; kernels see the same symbols as constants
// (thread_indices.hpp).
#pragma once

#include "hip/host_detail/abi.hpp"

namespace bitgate_host::thread_variables {
BITGATE_THREAD_VARIABLE(uint3, blockIdx);
BITGATE_THREAD_VARIABLE(dim3, blockDim);
BITGATE_THREAD_VARIABLE(dim3, gridDim);
BITGATE_THREAD_VARIABLE(int, warpSize);
} // namespace bitgate_host::thread_variables
