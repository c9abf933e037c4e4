// HIP C++ for AMD GPUs, device code only: what a kernel needs where no ROCm is installed. Compiled by
// bitgate.kernel.build with the clang inside of ziglang, which brings neither ROCm's headers nor its bitcode
// libraries: everything here is a builtin that the AMDGPU backend turns into instructions by itself. With
// ROCm present its own hip/hip_runtime.h is used, and not this one.
//
// Host functions of the same file are parsed and not emitted; the runtime API is declared for them.
#pragma once

#if !defined(__HIP__) || !defined(__clang__)
#error "hip/hip_runtime.h of bitgate's platform amd is for clang -x hip; see docs/build.md"
#endif

#define __HIP_PLATFORM_AMD__ 1

#include <cmath>
#include <cstddef>
#include <cstdint>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
// Threads of a block, and the waves that should fit on a SIMD. clang's own launch_bounds says nothing to the
// AMDGPU backend: without this a kernel gets the registers of a block of 1024 threads.
#define BITGATE_AMD_BOUNDS1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define BITGATE_AMD_BOUNDS2(threads, waves)                                                                  \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define BITGATE_AMD_BOUNDS(threads, waves, name, ...) name
#define __launch_bounds__(...)                                                                               \
  BITGATE_AMD_BOUNDS(__VA_ARGS__, BITGATE_AMD_BOUNDS2, BITGATE_AMD_BOUNDS1, )(__VA_ARGS__)

#define __forceinline__ inline __attribute__((always_inline))
// __noinline__ is a keyword of clang's HIP; a macro of that name would break the C++ library's attributes.
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__

#include "hip/hip_runtime_api.h"

#include "hip/amd_device/atomic.hpp"
#include "hip/amd_device/clock.hpp"
#include "hip/amd_device/math.hpp"
#include "hip/amd_device/place.hpp"
#include "hip/amd_device/wave.hpp"

// float4 and its family are those of the host, for both sides.
#pragma clang force_cuda_host_device begin
#include "hip/host_detail/vector_types.hpp"
#pragma clang force_cuda_host_device end

// What `kernel<<<grid, block, lds, stream>>>(...)` calls in host functions.
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds_bytes = 0,
                                                 hipStream_t stream = nullptr);
#define hipLaunchKernelGGL(kernel, grid, block, lds_bytes, stream, ...)                                      \
  (kernel)<<<dim3(grid), dim3(block), (lds_bytes), (stream)>>>(__VA_ARGS__)
