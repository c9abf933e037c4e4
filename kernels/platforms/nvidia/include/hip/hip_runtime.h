// HIP C++ for NVIDIA GPUs: include this in a kernel file and compile it with nvcc (C++20, --fmad=false). The
// runtime API is libamdhip64.so of the nvidia platform; device code is CUDA's with HIP's spellings.
#pragma once

#define __HIP_PLATFORM_NVIDIA__ 1

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bitgate_nvidia.h"
#include "hip/hip_runtime_api.h"
#include "hip/virtual_memory.h"

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// More than 48 KiB of a block's memory must be asked for once, on CUDA alone.
template <class Kernel> cudaError_t bitgate_nvidia_ask_lds(Kernel kernel, size_t lds_bytes) {
  return lds_bytes <= 48 * 1024 ? cudaSuccess
                                : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(lds_bytes));
}

inline int bitgate_nvidia_launching(const void* kernel, dim3 grid, dim3 block, hipStream_t stream) {
  const uint32_t blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
  return bitgateNvidiaLaunching(kernel, blocks, threads, stream);
}

// A launch needs CUDA's own entry point: nvcc registers each kernel with the CUDA runtime inside its library.
inline hipError_t bitgate_nvidia_launch(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t lds_bytes, hipStream_t stream) {
  if (const cudaError_t error = bitgate_nvidia_ask_lds(kernel, lds_bytes); error != cudaSuccess)
    return static_cast<hipError_t>(bitgateNvidiaLaunched(error));
  if (const int refused = bitgate_nvidia_launching(kernel, grid, block, stream))
    return static_cast<hipError_t>(refused);
  return static_cast<hipError_t>(bitgateNvidiaLaunched(
      cudaLaunchKernel(kernel, grid, block, arguments, lds_bytes, reinterpret_cast<cudaStream_t>(stream))));
}
#define hipLaunchKernel bitgate_nvidia_launch

template <class Kernel>
hipError_t bitgate_nvidia_active_blocks(int* blocks, Kernel kernel, int block_size, size_t dynamic_lds) {
  if (const cudaError_t error = bitgate_nvidia_ask_lds(kernel, dynamic_lds); error != cudaSuccess)
    return static_cast<hipError_t>(bitgateNvidiaTranslate(error));
  return static_cast<hipError_t>(bitgateNvidiaTranslate(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, dynamic_lds)));
}
#define hipOccupancyMaxActiveBlocksPerMultiprocessor bitgate_nvidia_active_blocks

#define hipLaunchKernelGGL(kernel, grid, block, lds_bytes, stream, ...)                                      \
  do {                                                                                                       \
    if (bitgate_nvidia_launching(reinterpret_cast<const void*>(kernel), dim3(grid), dim3(block),             \
                                 static_cast<hipStream_t>(stream)))                                          \
      break;                                                                                                 \
    (kernel)<<<dim3(grid), dim3(block), (lds_bytes),                                                         \
               reinterpret_cast<cudaStream_t>(static_cast<hipStream_t>(stream))>>>(__VA_ARGS__);             \
    (void)bitgateNvidiaLaunched(cudaGetLastError());                                                         \
  } while (false)

// A device variable, too, is known to the CUDA runtime of its library alone.
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return static_cast<hipError_t>(bitgateNvidiaTranslate(
      cudaMemcpyToSymbol(symbol, from, bytes, offset, static_cast<cudaMemcpyKind>(kind))));
}
template <class T>
hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return static_cast<hipError_t>(bitgateNvidiaTranslate(
      cudaMemcpyFromSymbol(to, symbol, bytes, offset, static_cast<cudaMemcpyKind>(kind))));
}
#undef HIP_SYMBOL
#define HIP_SYMBOL(name) name

// HIP's wave operations take no mask: all lanes of the 32-wide warp take part, as HIP asks of convergent
// code. CUDA still declares these names for old GPUs, hence macros.
namespace bitgate_nvidia {
inline constexpr unsigned full_warp = 0xFFFFFFFFu;
template <class T> __device__ inline T shuffle(T value, int lane, int width = 32) {
  return __shfl_sync(full_warp, value, lane, width);
}
template <class T> __device__ inline T shuffle_xor(T value, int mask, int width = 32) {
  return __shfl_xor_sync(full_warp, value, mask, width);
}
template <class T> __device__ inline T shuffle_up(T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(full_warp, value, delta, width);
}
template <class T> __device__ inline T shuffle_down(T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(full_warp, value, delta, width);
}
} // namespace bitgate_nvidia
#define __shfl(...) bitgate_nvidia::shuffle(__VA_ARGS__)
#define __shfl_xor(...) bitgate_nvidia::shuffle_xor(__VA_ARGS__)
#define __shfl_up(...) bitgate_nvidia::shuffle_up(__VA_ARGS__)
#define __shfl_down(...) bitgate_nvidia::shuffle_down(__VA_ARGS__)
#define __ballot(predicate)                                                                                  \
  static_cast<unsigned long long>(__ballot_sync(bitgate_nvidia::full_warp, predicate))
#define __any(predicate) __any_sync(bitgate_nvidia::full_warp, predicate)
#define __all(predicate) __all_sync(bitgate_nvidia::full_warp, predicate)

__device__ inline unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
