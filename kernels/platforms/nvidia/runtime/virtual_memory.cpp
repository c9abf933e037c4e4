// Memory that is mapped to parts of reserved addresses: the driver's, which CUDA's runtime does not have.
#include <cuda.h>

#include "capture.hpp"
#include "driver.hpp"
#include "held.hpp"
#include "hip/virtual_memory.h"

using bitgate_nvidia::finish;

namespace {

// HIP's numbers and layouts are CUDA's; a property that ends earlier leaves the rest at zero.
CUmemLocation cuda_location(const hipMemLocation& location) {
  CUmemLocation made{};
  made.type = static_cast<CUmemLocationType>(location.type);
  made.id = location.id;
  return made;
}
CUmemAllocationProp cuda_properties(const hipMemAllocationProp& properties) {
  CUmemAllocationProp made{};
  made.type = static_cast<CUmemAllocationType>(properties.type);
  made.location = cuda_location(properties.location);
  return made;
}

CUdeviceptr at(void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
CUmemGenericAllocationHandle cuda_handle(hipMemGenericAllocationHandle_t handle) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(handle);
}

// Calls a function of the driver, whose errors have the numbers of the runtime's.
template <class Function, class... Arguments> cudaError_t call(const char* name, Arguments... arguments) {
  Function* const function = bitgate_nvidia::driver<Function>(name);
  return function == nullptr ? cudaErrorNotSupported : static_cast<cudaError_t>(function(arguments...));
}
#define DRIVER(name, ...) call<decltype(name)>(#name, __VA_ARGS__)

} // namespace

extern "C" {

hipError_t hipMemAddressReserve(void** pointer, size_t bytes, size_t alignment, void* address,
                                unsigned long long flags) {
  BITGATE_NOT_CAPTURED;
  CUdeviceptr reserved = 0;
  const cudaError_t error = DRIVER(cuMemAddressReserve, &reserved, bytes, alignment, at(address), flags);
  *pointer = reinterpret_cast<void*>(reserved);
  return finish(error);
}
hipError_t hipMemAddressFree(void* pointer, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(DRIVER(cuMemAddressFree, at(pointer), bytes), pointer);
}
hipError_t hipMemGetAllocationGranularity(size_t* bytes, const hipMemAllocationProp* properties,
                                          hipMemAllocationGranularity_flags which) {
  const CUmemAllocationProp asked = cuda_properties(*properties);
  return finish(DRIVER(cuMemGetAllocationGranularity, bytes, &asked,
                       static_cast<CUmemAllocationGranularity_flags>(which)));
}

hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t bytes,
                        const hipMemAllocationProp* properties, unsigned long long flags) {
  BITGATE_NOT_CAPTURED;
  const CUmemAllocationProp asked = cuda_properties(*properties);
  CUmemGenericAllocationHandle made = 0;
  const cudaError_t error = DRIVER(cuMemCreate, &made, bytes, &asked, flags);
  *handle = reinterpret_cast<hipMemGenericAllocationHandle_t>(made);
  return finish(bitgate_nvidia::hold(error, reinterpret_cast<void* const*>(handle), bytes));
}
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  BITGATE_NOT_CAPTURED;
  return finish(bitgate_nvidia::release(DRIVER(cuMemRelease, cuda_handle(handle)), handle), handle);
}
hipError_t hipMemMap(void* pointer, size_t bytes, size_t offset, hipMemGenericAllocationHandle_t handle,
                     unsigned long long flags) {
  BITGATE_NOT_CAPTURED;
  return finish(DRIVER(cuMemMap, at(pointer), bytes, offset, cuda_handle(handle), flags), pointer);
}
hipError_t hipMemUnmap(void* pointer, size_t bytes) {
  BITGATE_NOT_CAPTURED;
  return finish(DRIVER(cuMemUnmap, at(pointer), bytes), pointer);
}
hipError_t hipMemSetAccess(void* pointer, size_t bytes, const hipMemAccessDesc* access, size_t count) {
  BITGATE_NOT_CAPTURED;
  for (size_t number = 0; number < count; ++number) {
    CUmemAccessDesc asked{};
    asked.location = cuda_location(access[number].location);
    asked.flags = static_cast<CUmemAccess_flags>(access[number].flags);
    if (const cudaError_t error = DRIVER(cuMemSetAccess, at(pointer), bytes, &asked, size_t{1}))
      return finish(error, pointer);
  }
  return hipSuccess;
}

} // extern "C"
