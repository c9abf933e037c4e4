// What HIP asks and sets about functions, and the ways to launch that the host does not have.
#include "block.hpp"
#include "error.hpp"
#include "settings.hpp"

namespace bitgate_host {
namespace {

hipError_t noCodeObjects(const char* call) {
  return fail(hipErrorNotSupported,
              "%s: the host runs kernels from shared libraries, not from code objects; build the kernel with "
              "the host "
              "toolchain and launch it from C++",
              call);
}

} // namespace
} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function) {
  BITGATE_ENTRY;
  if (!attributes || !function)
    return finish(hipErrorInvalidValue);
  *attributes = {};
  for (const SharedVariable& variable : *sharedVariablesOf(function))
    attributes->sharedSizeBytes += variable.own ? variable.bytes : 0;
  attributes->maxThreadsPerBlock = maxBlockThreads;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(settings().ldsLimit);
  return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) {
  BITGATE_ENTRY;
  if (!function)
    return finish(hipErrorInvalidDeviceFunction);
  if (attribute == hipFuncAttributeMaxDynamicSharedMemorySize &&
      (value < 0 || static_cast<size_t>(value) > settings().ldsLimit))
    return fail(hipErrorInvalidValue, "hipFuncSetAttribute: %d bytes of LDS, %zu are allowed", value,
                settings().ldsLimit);
  return hipSuccess;
}

hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t) {
  BITGATE_ENTRY;
  return finish(function ? hipSuccess : hipErrorInvalidDeviceFunction);
}

hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t) {
  BITGATE_ENTRY;
  return failWork(hipErrorNotSupported,
                  "hipLaunchKernel with an untyped function: the host cannot know the arguments' "
                  "sizes; use hipLaunchKernelGGL(kernel, grid, block, lds, stream, args...)");
}

hipError_t hipModuleLoad(hipModule_t*, const char*) {
  BITGATE_ENTRY;
  return noCodeObjects("hipModuleLoad");
}
hipError_t hipModuleLoadData(hipModule_t*, const void*) {
  BITGATE_ENTRY;
  return noCodeObjects("hipModuleLoadData");
}
hipError_t hipModuleUnload(hipModule_t) {
  BITGATE_ENTRY;
  return noCodeObjects("hipModuleUnload");
}
hipError_t hipModuleGetFunction(hipFunction_t*, hipModule_t, const char*) {
  BITGATE_ENTRY;
  return noCodeObjects("hipModuleGetFunction");
}
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, hipStream_t, void**, void**) {
  BITGATE_ENTRY;
  return noCodeObjects("hipModuleLaunchKernel");
}

} // extern "C"
