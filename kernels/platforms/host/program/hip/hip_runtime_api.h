// HIP's functions as whole programs see them (bitgate-hipcc): the host runtime's, and those that need no part
// in it.
#pragma once

#include_next <hip/hip_runtime_api.h>

// ROCm does the same, so that `struct hipDeviceProp_t` is one.
#define hipDeviceProp_t hipDeviceProp_tR0600

#ifdef __cplusplus
#include "hip/host_detail/program_api.hpp"
#endif
