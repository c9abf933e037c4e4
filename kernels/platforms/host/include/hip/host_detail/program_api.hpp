// Functions of HIP that the host runtime has no part in: one device, memory that the host and it share.
#pragma once

#include <cstring>

#include "hip/hip_runtime_api.h"

#define hipDevicePropertiesBytes sizeof(hipDeviceProp_tR0600)
#define hipStreamNonBlockingWithPriority hipStreamNonBlocking
#define hipCpuDeviceId (-1)
#define hipInvalidDeviceId (-2)
#define hipHostMallocNumaUser 0x20000000
#define hipMemAttachHost 0x02
#define hipMemAttachSingle 0x04
#define hipEventReleaseToDevice 0x40000000
#define hipEventReleaseToSystem 0x80000000
#define hipEventDisableSystemFence 0x20000000
#define hipDeviceMapHost 0x8
#define hipDeviceLmemResizeToMax 0x10
#define hipHostRegisterIoMemory 0x4
#define hipHostRegisterReadOnly 0x8
#define hipCooperativeLaunchMultiDeviceNoPreSync 0x01

enum hipSharedMemConfig {
  hipSharedMemBankSizeDefault,
  hipSharedMemBankSizeFourByte,
  hipSharedMemBankSizeEightByte
};
enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1,
  hipMemAdviseUnsetReadMostly,
  hipMemAdviseSetPreferredLocation,
  hipMemAdviseUnsetPreferredLocation,
  hipMemAdviseSetAccessedBy,
  hipMemAdviseUnsetAccessedBy,
  hipMemAdviseSetCoarseGrain = 100,
  hipMemAdviseUnsetCoarseGrain
};
enum hipDeviceP2PAttr {
  hipDevP2PAttrPerformanceRank,
  hipDevP2PAttrAccessSupported,
  hipDevP2PAttrNativeAtomicSupported,
  hipDevP2PAttrHipArrayAccessSupported
};
enum hipComputeMode {
  hipComputeModeDefault,
  hipComputeModeExclusive,
  hipComputeModeProhibited,
  hipComputeModeExclusiveProcess
};

namespace bitgate_host {
inline hipError_t device_if(bool exists) {
  return exists ? hipSuccess : hipErrorInvalidDevice;
}
} // namespace bitgate_host

// The only device is no peer of itself, and there is no other.
inline hipError_t hipDeviceEnablePeerAccess(int, unsigned) {
  return hipErrorInvalidDevice;
}
inline hipError_t hipDeviceDisablePeerAccess(int) {
  return hipErrorInvalidDevice;
}
inline hipError_t hipDeviceGetP2PAttribute(int*, hipDeviceP2PAttr, int, int) {
  return hipErrorInvalidDevice;
}
inline hipError_t hipMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice, size_t bytes) {
  return toDevice || fromDevice ? hipErrorInvalidDevice : hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
inline hipError_t hipMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice, size_t bytes,
                                     hipStream_t stream = nullptr) {
  return toDevice || fromDevice ? hipErrorInvalidDevice
                                : hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
inline hipError_t hipChooseDevice(int* device, const hipDeviceProp_tR0600*) {
  *device = 0;
  return hipSuccess;
}
inline hipError_t hipDeviceGetByPCIBusId(int* device, const char* name) {
  char only[64] = {};
  const hipError_t error = hipDeviceGetPCIBusId(only, sizeof only, 0);
  *device = 0;
  return error != hipSuccess ? error : bitgate_host::device_if(std::strcmp(only, name) == 0);
}
inline hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig) {
  return hipSuccess;
}
inline hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig* config) {
  *config = hipSharedMemBankSizeFourByte;
  return hipSuccess;
}
inline hipError_t hipFuncSetSharedMemConfig(const void*, hipSharedMemConfig) {
  return hipSuccess;
}
inline hipError_t hipMemAdvise(const void*, size_t, hipMemoryAdvise, int) {
  return hipSuccess;
}
inline hipError_t hipMemPrefetchAsync(const void*, size_t, int device, hipStream_t = nullptr) {
  return bitgate_host::device_if(device == 0 || device == hipCpuDeviceId);
}
inline hipError_t hipStreamAttachMemAsync(hipStream_t, void*, size_t = 0, unsigned = 0) {
  return hipSuccess;
}
inline hipError_t hipProfilerStart() {
  return hipSuccess;
}
inline hipError_t hipProfilerStop() {
  return hipSuccess;
}
inline hipError_t hipMemcpyDtoD(void* to, const void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
inline hipError_t hipMemcpyHtoD(void* to, void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
inline hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream = nullptr, unsigned = 0) {
  return hipEventRecord(event, stream);
}
template <class T> hipError_t hipMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  return hipMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}
template <class T> hipError_t hipMallocHost(T** pointer, size_t bytes) {
  return hipMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <class T> hipError_t hipHostAlloc(T** pointer, size_t bytes, unsigned flags) {
  return hipHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T> hipError_t hipHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return hipHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

// Of a kernel by its name, without a cast.
template <class... P> hipError_t hipFuncGetAttributes(hipFuncAttributes* to, void (*kernel)(P...)) {
  return hipFuncGetAttributes(to, reinterpret_cast<const void*>(kernel));
}
template <class... P>
hipError_t hipFuncSetAttribute(void (*kernel)(P...), hipFuncAttribute which, int value) {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), which, value);
}
template <class... P> hipError_t hipFuncSetCacheConfig(void (*kernel)(P...), hipFuncCache_t config) {
  return hipFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}
template <class... P>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, void (*kernel)(P...), size_t lds = 0,
                                             int limit = 0) {
  return hipOccupancyMaxPotentialBlockSize(grid, block, reinterpret_cast<const void*>(kernel), lds, limit);
}
template <class... P, class Lds>
hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, void (*kernel)(P...), Lds lds,
                                                         int limit = 0) {
  const auto bytes = static_cast<size_t>(lds(limit > 0 ? limit : 256));
  return hipOccupancyMaxPotentialBlockSize(grid, block, reinterpret_cast<const void*>(kernel), bytes, limit);
}
