// HIP's header as whole programs see it (bitgate-hipcc): the host's, and what kernels of ours do without.
#pragma once

#include <math.h> // isfinite and its like without std::, as hipcc has them

#include_next <hip/hip_runtime.h>

#include "hip/hip_runtime_api.h"
#include "hip/host_detail/modules.hpp"
#include "hip/host_detail/program.hpp"
#include "hip/host_detail/program_device.hpp"
#include "hip/host_detail/program_launch.hpp"
#include "hip/host_detail/program_simd.hpp"
#include "hip/host_detail/program_volumes.hpp"
#include "hip/host_detail/symbols.hpp"
#include "hip/host_detail/texture.hpp"

// Functions for one side each: bitgate-hipcc reads which, and removes the words.
#undef __device__
#define __device__ __bitgate_device__
#undef __host__
#define __host__ __bitgate_host__
