// What every file of the nvidia runtime includes: CUDA's runtime below, HIP's API above, and the way between
// them.
#pragma once

#include <cuda_runtime_api.h>

#include "hip/hip_runtime_api.h"
#include "incident.hpp"

namespace bitgate_nvidia {

// HIP's number of a CUDA error: they are the same except for some.
hipError_t translate(cudaError_t error);
// The same for the result of `call`, by default the HIP function that returns it: a failure is an incident.
inline hipError_t finish(cudaError_t error, const void* address = nullptr,
                         const char* call = __builtin_FUNCTION()) {
  note(error, call, address);
  return translate(error);
}

inline cudaStream_t cuda(hipStream_t stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}
inline cudaEvent_t cuda(hipEvent_t event) {
  return reinterpret_cast<cudaEvent_t>(event);
}
inline cudaMemcpyKind cuda(hipMemcpyKind kind) {
  return static_cast<cudaMemcpyKind>(kind & 7);
}

} // namespace bitgate_nvidia
