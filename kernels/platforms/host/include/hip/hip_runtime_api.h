// The HIP runtime API of the host platform: types, constants and functions, with HIP's names and numbers.
// kernels/platforms/hip_api.txt lists every function; a test holds the built library to that list.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "hip/host_detail/api_enums.h"
#include "hip/host_detail/device_prop.h"

#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)

#if defined(__GNUC__)
#define BITGATE_API __attribute__((visibility("default")))
#endif

#ifndef __CUDA_RUNTIME_API_H__ // CUDA brings its own
typedef struct dim3 {
  uint32_t x, y, z;
#ifdef __cplusplus
  constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
#endif
} dim3;
#endif

typedef int hipDevice_t;
typedef void* hipDeviceptr_t;
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef void (*hipHostFn_t)(void* userData);
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void* userData);

typedef struct hipPointerAttribute_t {
  hipMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
} hipPointerAttribute_t;

typedef struct hipFuncAttributes {
  int binaryVersion;
  int cacheModeCA;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxDynamicSharedSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int preferredShmemCarveout;
  int ptxVersion;
  size_t sharedSizeBytes;
} hipFuncAttributes;

#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01
#define hipStreamLegacy ((hipStream_t)1)
#define hipStreamPerThread ((hipStream_t)2)
#define hipEventDefault 0x0
#define hipEventBlockingSync 0x1
#define hipEventDisableTiming 0x2
#define hipEventInterprocess 0x4
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipMemAttachGlobal 0x01
#define hipDeviceScheduleAuto 0x0
#define hipDeviceScheduleSpin 0x1
#define hipDeviceScheduleYield 0x2
#define hipDeviceScheduleBlockingSync 0x4
#define hipDeviceMallocDefault 0x0
#define hipDeviceMallocFinegrained 0x1
#define hipOccupancyDefault 0x0

#ifdef __cplusplus
extern "C" {
#endif

// Devices
BITGATE_API hipError_t hipInit(unsigned flags);
BITGATE_API hipError_t hipDriverGetVersion(int* version);
BITGATE_API hipError_t hipRuntimeGetVersion(int* version);
BITGATE_API hipError_t hipGetDeviceCount(int* count);
BITGATE_API hipError_t hipGetDevice(int* device);
BITGATE_API hipError_t hipSetDevice(int device);
BITGATE_API hipError_t hipDeviceGet(hipDevice_t* device, int ordinal);
BITGATE_API hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device);
BITGATE_API hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device);
BITGATE_API hipError_t hipDeviceGetPCIBusId(char* pciBusId, int length, int device);
BITGATE_API hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device);
BITGATE_API hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device);
BITGATE_API hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
BITGATE_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* properties, int device);
BITGATE_API hipError_t hipDeviceSynchronize(void);
BITGATE_API hipError_t hipDeviceReset(void);
BITGATE_API hipError_t hipSetDeviceFlags(unsigned flags);
BITGATE_API hipError_t hipGetDeviceFlags(unsigned* flags);
BITGATE_API hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit);
BITGATE_API hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value);
BITGATE_API hipError_t hipDeviceGetCacheConfig(hipFuncCache_t* config);
BITGATE_API hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config);
BITGATE_API hipError_t hipDeviceCanAccessPeer(int* canAccess, int device, int peer);
BITGATE_API hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest);

// Errors
BITGATE_API const char* hipGetErrorName(hipError_t error);
BITGATE_API const char* hipGetErrorString(hipError_t error);
BITGATE_API hipError_t hipDrvGetErrorName(hipError_t error, const char** name);
BITGATE_API hipError_t hipDrvGetErrorString(hipError_t error, const char** text);
BITGATE_API hipError_t hipGetLastError(void);
BITGATE_API hipError_t hipPeekAtLastError(void);
BITGATE_API hipError_t hipExtGetLastError(void);

// Memory
BITGATE_API hipError_t hipMalloc(void** pointer, size_t bytes);
BITGATE_API hipError_t hipExtMallocWithFlags(void** pointer, size_t bytes, unsigned flags);
#ifdef __cplusplus
BITGATE_API hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags = hipMemAttachGlobal);
BITGATE_API hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags = hipHostMallocDefault);
#else
BITGATE_API hipError_t hipMallocManaged(void** pointer, size_t bytes, unsigned flags);
BITGATE_API hipError_t hipHostMalloc(void** pointer, size_t bytes, unsigned flags);
#endif
BITGATE_API hipError_t hipMallocAsync(void** pointer, size_t bytes, hipStream_t stream);
BITGATE_API hipError_t hipMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height);
BITGATE_API hipError_t hipMallocHost(void** pointer, size_t bytes);
BITGATE_API hipError_t hipHostAlloc(void** pointer, size_t bytes, unsigned flags);
BITGATE_API hipError_t hipFree(void* pointer);
BITGATE_API hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
BITGATE_API hipError_t hipHostFree(void* pointer);
BITGATE_API hipError_t hipFreeHost(void* pointer);
BITGATE_API hipError_t hipHostRegister(void* pointer, size_t bytes, unsigned flags);
BITGATE_API hipError_t hipHostUnregister(void* pointer);
BITGATE_API hipError_t hipHostGetDevicePointer(void** devicePointer, void* hostPointer, unsigned flags);
BITGATE_API hipError_t hipHostGetFlags(unsigned* flags, void* hostPointer);
BITGATE_API hipError_t hipMemGetInfo(size_t* free, size_t* total);
BITGATE_API hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes);
BITGATE_API hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes, hipDeviceptr_t pointer);
BITGATE_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer);

// Copies and fills
BITGATE_API hipError_t hipMemcpy(void* dst, const void* src, size_t bytes, hipMemcpyKind kind);
BITGATE_API hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                           hipStream_t stream);
BITGATE_API hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src, size_t bytes);
BITGATE_API hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t bytes);
BITGATE_API hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes);
BITGATE_API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, const void* src, size_t bytes,
                                          hipStream_t stream);
BITGATE_API hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream);
BITGATE_API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes,
                                          hipStream_t stream);
BITGATE_API hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                   size_t height, hipMemcpyKind kind);
BITGATE_API hipError_t hipMemset(void* dst, int value, size_t bytes);
BITGATE_API hipError_t hipMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height);
BITGATE_API hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count);
BITGATE_API hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count);
BITGATE_API hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count);
BITGATE_API hipError_t hipGetSymbolAddress(void** pointer, const void* symbol);
#ifdef __cplusplus
BITGATE_API hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                        size_t width, size_t height, hipMemcpyKind kind,
                                        hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                                        hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count,
                                        hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count,
                                         hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count,
                                         hipStream_t stream = nullptr);
BITGATE_API hipError_t hipMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset = 0,
                                         hipMemcpyKind kind = hipMemcpyHostToDevice);
BITGATE_API hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset = 0,
                                           hipMemcpyKind kind = hipMemcpyDeviceToHost);
#else
BITGATE_API hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream);
BITGATE_API hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                        size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream);
BITGATE_API hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream);
BITGATE_API hipError_t hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                                        hipStream_t stream);
BITGATE_API hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count,
                                        hipStream_t stream);
BITGATE_API hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count,
                                         hipStream_t stream);
BITGATE_API hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t stream);
BITGATE_API hipError_t hipMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                                         hipMemcpyKind kind);
BITGATE_API hipError_t hipMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                                           hipMemcpyKind kind);
#endif

// Streams
BITGATE_API hipError_t hipStreamCreate(hipStream_t* stream);
BITGATE_API hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
BITGATE_API hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
BITGATE_API hipError_t hipStreamDestroy(hipStream_t stream);
BITGATE_API hipError_t hipStreamSynchronize(hipStream_t stream);
BITGATE_API hipError_t hipStreamQuery(hipStream_t stream);
#ifdef __cplusplus
BITGATE_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
#else
BITGATE_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags);
#endif
BITGATE_API hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags);
BITGATE_API hipError_t hipStreamGetPriority(hipStream_t stream, int* priority);
BITGATE_API hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
BITGATE_API hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void* userData,
                                            unsigned flags);
BITGATE_API hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* userData);

// Graphs
BITGATE_API hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
BITGATE_API hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
BITGATE_API hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
BITGATE_API hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph,
                                           hipGraphNode_t* errorNode, char* log, size_t logBytes);
BITGATE_API hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph,
                                                    unsigned long long flags);
BITGATE_API hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream);
BITGATE_API hipError_t hipGraphExecDestroy(hipGraphExec_t executable);
BITGATE_API hipError_t hipGraphDestroy(hipGraph_t graph);

// Events
BITGATE_API hipError_t hipEventCreate(hipEvent_t* event);
BITGATE_API hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
#ifdef __cplusplus
BITGATE_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
#else
BITGATE_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
#endif
BITGATE_API hipError_t hipEventSynchronize(hipEvent_t event);
BITGATE_API hipError_t hipEventQuery(hipEvent_t event);
BITGATE_API hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
BITGATE_API hipError_t hipEventDestroy(hipEvent_t event);

// Launches
BITGATE_API hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                       size_t ldsBytes, hipStream_t stream);
BITGATE_API hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* function);
BITGATE_API hipError_t hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value);
BITGATE_API hipError_t hipFuncSetCacheConfig(const void* function, hipFuncCache_t config);
BITGATE_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                    int blockSize, size_t dynamicLds);
BITGATE_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                             const void* function,
                                                                             int blockSize, size_t dynamicLds,
                                                                             unsigned flags);
BITGATE_API hipError_t hipOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, const void* function,
                                                         size_t dynamicLds, int blockSizeLimit);

// Code objects: not supported on the host; these return hipErrorNotSupported.
BITGATE_API hipError_t hipModuleLoad(hipModule_t* module, const char* path);
BITGATE_API hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
BITGATE_API hipError_t hipModuleUnload(hipModule_t module);
BITGATE_API hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
BITGATE_API hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX, unsigned gridY,
                                             unsigned gridZ, unsigned blockX, unsigned blockY,
                                             unsigned blockZ, unsigned ldsBytes, hipStream_t stream,
                                             void** parameters, void** extra);

#ifdef __cplusplus
}

template <class T> hipError_t hipMalloc(T** pointer, size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T> hipError_t hipMallocManaged(T** pointer, size_t bytes, unsigned f = hipMemAttachGlobal) {
  return hipMallocManaged(reinterpret_cast<void**>(pointer), bytes, f);
}
template <class T> hipError_t hipMallocAsync(T** pointer, size_t bytes, hipStream_t stream) {
  return hipMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T> hipError_t hipHostMalloc(T** pointer, size_t bytes, unsigned f = hipHostMallocDefault) {
  return hipHostMalloc(reinterpret_cast<void**>(pointer), bytes, f);
}
template <class T>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T function, int blockSize,
                                                        size_t dynamicLds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function),
                                                      blockSize, dynamicLds);
}
#endif

// The C name carries the structure's revision, as in ROCm.
#define hipGetDeviceProperties hipGetDevicePropertiesR0600
#define HIP_SYMBOL(x) (&(x))
