// What every file of the nvidia runtime includes: CUDA's runtime below, HIP's API above, and the way between
// them.
#pragma once

#include <cuda_runtime_api.h>

#include "hip/hip_runtime_api.h"

namespace bitgate_nvidia {

// HIP kept CUDA's numbers except for these.
hipError_t translate(cudaError_t error);

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
