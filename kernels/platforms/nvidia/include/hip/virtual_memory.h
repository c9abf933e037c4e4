// HIP's virtual memory management: addresses are reserved, and memory is mapped to parts of them. Types and
// functions have HIP's names, numbers and layouts; kernels/platforms/hip_api_gpu.txt lists the functions.
#pragma once

#include "hip/hip_runtime_api.h"

typedef struct ihipMemGenericAllocationHandle* hipMemGenericAllocationHandle_t;

typedef enum hipMemAllocationType {
  hipMemAllocationTypeInvalid = 0,
  hipMemAllocationTypePinned = 1
} hipMemAllocationType;
typedef enum hipMemLocationType {
  hipMemLocationTypeInvalid = 0,
  hipMemLocationTypeDevice = 1
} hipMemLocationType;
typedef enum hipMemAccessFlags {
  hipMemAccessFlagsProtNone = 0,
  hipMemAccessFlagsProtRead = 1,
  hipMemAccessFlagsProtReadWrite = 3
} hipMemAccessFlags;
typedef enum hipMemAllocationGranularity_flags {
  hipMemAllocationGranularityMinimum = 0,
  hipMemAllocationGranularityRecommended = 1
} hipMemAllocationGranularity_flags;

typedef struct hipMemLocation {
  hipMemLocationType type;
  int id;
} hipMemLocation;

typedef struct hipMemAccessDesc {
  hipMemLocation location;
  hipMemAccessFlags flags;
} hipMemAccessDesc;

typedef struct hipMemAllocationProp {
  hipMemAllocationType type;
  int requestedHandleType; // handles are not exported: 0
  hipMemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
  } allocFlags;
} hipMemAllocationProp;

extern "C" {
BITGATE_API hipError_t hipMemAddressReserve(void** pointer, size_t bytes, size_t alignment, void* address,
                                            unsigned long long flags);
BITGATE_API hipError_t hipMemAddressFree(void* pointer, size_t bytes);
BITGATE_API hipError_t hipMemGetAllocationGranularity(size_t* bytes, const hipMemAllocationProp* properties,
                                                      hipMemAllocationGranularity_flags which);
BITGATE_API hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t bytes,
                                    const hipMemAllocationProp* properties, unsigned long long flags);
BITGATE_API hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle);
BITGATE_API hipError_t hipMemMap(void* pointer, size_t bytes, size_t offset,
                                 hipMemGenericAllocationHandle_t handle, unsigned long long flags);
BITGATE_API hipError_t hipMemUnmap(void* pointer, size_t bytes);
BITGATE_API hipError_t hipMemSetAccess(void* pointer, size_t bytes, const hipMemAccessDesc* access,
                                       size_t count);
}
