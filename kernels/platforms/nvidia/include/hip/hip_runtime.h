// HIP C++ for NVIDIA GPUs: include this in a kernel file and compile it with nvcc (C++20, --fmad=false). The runtime
// API is libamdhip64.so of the nvidia platform; device code is CUDA's with HIP's spellings.
#pragma once

#define __HIP_PLATFORM_NVIDIA__ 1

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hip/hip_runtime_api.h"

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// Our runtime's translation of a CUDA error that happened in this library's own copy of the CUDA runtime.
extern "C" hipError_t bitgateNvidiaTranslate(int cuda_error);

// A launch needs CUDA's own entry point: nvcc registers each kernel with the CUDA runtime inside its library.
inline hipError_t bitgate_nvidia_launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t lds_bytes,
                                        hipStream_t stream) {
  return bitgateNvidiaTranslate(
      cudaLaunchKernel(kernel, grid, block, arguments, lds_bytes, reinterpret_cast<cudaStream_t>(stream)));
}
#define hipLaunchKernel bitgate_nvidia_launch

#define hipLaunchKernelGGL(kernel, grid, block, lds_bytes, stream, ...)                                                \
  (kernel)<<<dim3(grid), dim3(block), (lds_bytes), reinterpret_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)

// HIP's wave operations take no mask: all lanes of the 32-wide warp take part, as HIP asks of convergent code.
#define BITGATE_FULL_WARP 0xFFFFFFFFu
template <class T> __device__ inline T __shfl(T value, int lane, int width = 32) {
  return __shfl_sync(BITGATE_FULL_WARP, value, lane, width);
}
template <class T> __device__ inline T __shfl_xor(T value, int mask, int width = 32) {
  return __shfl_xor_sync(BITGATE_FULL_WARP, value, mask, width);
}
template <class T> __device__ inline T __shfl_up(T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(BITGATE_FULL_WARP, value, delta, width);
}
template <class T> __device__ inline T __shfl_down(T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(BITGATE_FULL_WARP, value, delta, width);
}
__device__ inline unsigned long long __ballot(int predicate) { return __ballot_sync(BITGATE_FULL_WARP, predicate); }
__device__ inline int __any(int predicate) { return __any_sync(BITGATE_FULL_WARP, predicate); }
__device__ inline int __all(int predicate) { return __all_sync(BITGATE_FULL_WARP, predicate); }
__device__ inline unsigned __lane_id() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) & 31u; }
