// What is asked of kernels and symbols, and modules.
//
// nvcc registers a kernel with the CUDA runtime inside its own library, so kernel files get the functions
// that take a kernel inline, from hip_runtime.h. The ones exported here are for callers that have none of
// that: CUDA answers that it does not know the function.
#include "capture.hpp"
#include "cuda.hpp"
#include "work.hpp"

using bitgate_nvidia::cuda;
using bitgate_nvidia::finish;

extern "C" {

hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t lds_bytes,
                           hipStream_t stream) {
  BITGATE_CAPTURED_ON(stream);
  bitgate_nvidia::log_launch(function, grid, block);
  return finish(cudaLaunchKernel(function, grid, block, arguments, lds_bytes, cuda(stream)));
}

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  cudaFuncAttributes found{};
  const cudaError_t error = cudaFuncGetAttributes(&found, function);
  if (error != cudaSuccess)
    return finish(error);
  *attributes = {};
  attributes->binaryVersion = found.binaryVersion;
  attributes->cacheModeCA = found.cacheModeCA;
  attributes->constSizeBytes = found.constSizeBytes;
  attributes->localSizeBytes = found.localSizeBytes;
  attributes->maxDynamicSharedSizeBytes = found.maxDynamicSharedSizeBytes;
  attributes->maxThreadsPerBlock = found.maxThreadsPerBlock;
  attributes->numRegs = found.numRegs;
  attributes->preferredShmemCarveout = found.preferredShmemCarveout;
  attributes->ptxVersion = found.ptxVersion;
  attributes->sharedSizeBytes = found.sharedSizeBytes;
  return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) {
  return finish(cudaFuncSetAttribute(function, static_cast<cudaFuncAttribute>(attribute), value));
}
hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t config) {
  return finish(cudaFuncSetCacheConfig(function, static_cast<cudaFuncCache>(config)));
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                        size_t dynamic_lds) {
  return finish(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_lds));
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                 int block_size, size_t dynamic_lds,
                                                                 unsigned flags) {
  return finish(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                       dynamic_lds, flags));
}
// CUDA has this one as a C++ template only.
hipError_t hipOccupancyMaxPotentialBlockSize(int*, int*, const void*, size_t, int) {
  return hipErrorNotSupported;
}

hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
  return finish(cudaGetSymbolAddress(pointer, symbol));
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                             hipMemcpyKind kind) {
  return finish(cudaMemcpyToSymbol(symbol, src, bytes, offset, cuda(kind)));
}
hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                               hipMemcpyKind kind) {
  return finish(cudaMemcpyFromSymbol(dst, symbol, bytes, offset, cuda(kind)));
}

// Code objects are AMD's; there is nothing to load here, as on the host.
hipError_t hipModuleLoad(hipModule_t*, const char*) {
  return hipErrorNotSupported;
}
hipError_t hipModuleLoadData(hipModule_t*, const void*) {
  return hipErrorNotSupported;
}
hipError_t hipModuleUnload(hipModule_t) {
  return hipErrorNotSupported;
}
hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*) {
  return hipErrorNotSupported;
}
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, hipStream_t, void**, void**) {
  return hipErrorNotSupported;
}

} // extern "C"
