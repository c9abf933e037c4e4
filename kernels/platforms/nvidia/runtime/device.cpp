// Devices, their attributes, and occupancy.
#include <cstring>

#include <cuda.h>

#include "capture.hpp"
#include "driver.hpp"

using bitgate_nvidia::finish;

namespace {

struct Attribute {
  hipDeviceAttribute_t hip;
  cudaDeviceAttr cuda;
};

constexpr Attribute attributes[] = {
    {hipDeviceAttributeEccEnabled, cudaDevAttrEccEnabled},
    {hipDeviceAttributeAsyncEngineCount, cudaDevAttrAsyncEngineCount},
    {hipDeviceAttributeCanMapHostMemory, cudaDevAttrCanMapHostMemory},
    {hipDeviceAttributeClockRate, cudaDevAttrClockRate},
    {hipDeviceAttributeComputeMode, cudaDevAttrComputeMode},
    {hipDeviceAttributeConcurrentKernels, cudaDevAttrConcurrentKernels},
    {hipDeviceAttributeCooperativeLaunch, cudaDevAttrCooperativeLaunch},
    {hipDeviceAttributeIntegrated, cudaDevAttrIntegrated},
    {hipDeviceAttributeKernelExecTimeout, cudaDevAttrKernelExecTimeout},
    {hipDeviceAttributeL2CacheSize, cudaDevAttrL2CacheSize},
    {hipDeviceAttributeComputeCapabilityMajor, cudaDevAttrComputeCapabilityMajor},
    {hipDeviceAttributeComputeCapabilityMinor, cudaDevAttrComputeCapabilityMinor},
    {hipDeviceAttributeManagedMemory, cudaDevAttrManagedMemory},
    {hipDeviceAttributeMaxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
    {hipDeviceAttributeMaxBlockDimX, cudaDevAttrMaxBlockDimX},
    {hipDeviceAttributeMaxBlockDimY, cudaDevAttrMaxBlockDimY},
    {hipDeviceAttributeMaxBlockDimZ, cudaDevAttrMaxBlockDimZ},
    {hipDeviceAttributeMaxGridDimX, cudaDevAttrMaxGridDimX},
    {hipDeviceAttributeMaxGridDimY, cudaDevAttrMaxGridDimY},
    {hipDeviceAttributeMaxGridDimZ, cudaDevAttrMaxGridDimZ},
    {hipDeviceAttributeMaxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
    {hipDeviceAttributeMemoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
    {hipDeviceAttributeMemoryClockRate, cudaDevAttrMemoryClockRate},
    {hipDeviceAttributeMultiprocessorCount, cudaDevAttrMultiProcessorCount},
    {hipDeviceAttributePciBusId, cudaDevAttrPciBusId},
    {hipDeviceAttributePciDeviceId, cudaDevAttrPciDeviceId},
    {hipDeviceAttributeMaxRegistersPerBlock, cudaDevAttrMaxRegistersPerBlock},
    {hipDeviceAttributeMaxSharedMemoryPerBlock, cudaDevAttrMaxSharedMemoryPerBlock},
    {hipDeviceAttributeSharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {hipDeviceAttributeSharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
    {hipDeviceAttributeTotalConstantMemory, cudaDevAttrTotalConstantMemory},
    {hipDeviceAttributeUnifiedAddressing, cudaDevAttrUnifiedAddressing},
    {hipDeviceAttributeWarpSize, cudaDevAttrWarpSize},
    {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
};

} // namespace

extern "C" {

hipError_t hipInit(unsigned) {
  return finish(cudaFree(nullptr));
}
hipError_t hipDriverGetVersion(int* version) {
  return finish(cudaDriverGetVersion(version));
}
hipError_t hipRuntimeGetVersion(int* version) {
  return finish(cudaRuntimeGetVersion(version));
}
hipError_t hipGetDeviceCount(int* count) {
  return finish(cudaGetDeviceCount(count));
}
hipError_t hipGetDevice(int* device) {
  return finish(cudaGetDevice(device));
}
hipError_t hipSetDevice(int device) {
  return finish(cudaSetDevice(device));
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess)
    return finish(error);
  *device = ordinal;
  return ordinal >= 0 && ordinal < count ? hipSuccess : hipErrorInvalidDevice;
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess)
    return finish(error);
  if (length < 1)
    return hipErrorInvalidValue;
  std::strncpy(name, properties.name, static_cast<size_t>(length));
  name[length - 1] = '\0';
  return hipSuccess;
}

hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess)
    std::memcpy(uuid->bytes, properties.uuid.bytes, sizeof uuid->bytes);
  return finish(error);
}

hipError_t hipDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return finish(cudaDeviceGetPCIBusId(bus_id, length, device));
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  const cudaError_t error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  return finish(error != cudaSuccess
                    ? error
                    : cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess)
    *bytes = properties.totalGlobalMem;
  return finish(error);
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  if (attribute == hipDeviceAttributeVirtualMemoryManagementSupported) {
    auto* const ask = bitgate_nvidia::driver<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
    constexpr auto same = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    return ask == nullptr ? hipErrorNotSupported : finish(static_cast<cudaError_t>(ask(value, same, device)));
  }
  for (const Attribute& row : attributes)
    if (row.hip == attribute)
      return finish(cudaDeviceGetAttribute(value, row.cuda, device));
  return hipErrorNotSupported;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* properties, int device) {
  cudaDeviceProp found;
  const cudaError_t error = cudaGetDeviceProperties(&found, device);
  if (error != cudaSuccess)
    return finish(error);
  *properties = {};
  static_assert(sizeof properties->name == sizeof found.name);
  std::memcpy(properties->name, found.name, sizeof found.name);
  std::memcpy(properties->uuid.bytes, found.uuid.bytes, sizeof properties->uuid.bytes);
  properties->totalGlobalMem = found.totalGlobalMem;
  properties->sharedMemPerBlock = found.sharedMemPerBlock;
  properties->regsPerBlock = found.regsPerBlock;
  properties->warpSize = found.warpSize;
  properties->maxThreadsPerBlock = found.maxThreadsPerBlock;
  std::memcpy(properties->maxThreadsDim, found.maxThreadsDim, sizeof properties->maxThreadsDim);
  std::memcpy(properties->maxGridSize, found.maxGridSize, sizeof properties->maxGridSize);
  properties->totalConstMem = found.totalConstMem;
  properties->major = found.major;
  properties->minor = found.minor;
  properties->multiProcessorCount = found.multiProcessorCount;
  return hipSuccess;
}

hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit) {
  return finish(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit))); // 0 to 2 mean the same in both
}
hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  return finish(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config) {
  return finish(cudaDeviceGetCacheConfig(reinterpret_cast<cudaFuncCache*>(config)));
}
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
  return finish(cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)));
}

hipError_t hipDeviceSynchronize() {
  BITGATE_NOT_CAPTURED;
  return finish(cudaDeviceSynchronize());
}
hipError_t hipDeviceReset() {
  bitgate_nvidia::note("hipDeviceReset: it ended the memory and the streams of its caller");
  return finish(cudaDeviceReset());
}
hipError_t hipSetDeviceFlags(unsigned flags) {
  return finish(cudaSetDeviceFlags(flags & 7u));
}
hipError_t hipGetDeviceFlags(unsigned* flags) {
  return finish(cudaGetDeviceFlags(flags));
}
hipError_t hipDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return finish(cudaDeviceCanAccessPeer(can_access, device, peer));
}
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return finish(cudaDeviceGetStreamPriorityRange(least, greatest));
}

} // extern "C"
