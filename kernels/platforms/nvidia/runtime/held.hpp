// What programs allocated through HIP and have not freed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bitgate_nvidia {

// Takes an allocation down if it succeeded, and returns its error.
cudaError_t hold(cudaError_t error, void* const* pointer, size_t bytes);
// Takes it off once it was freed.
cudaError_t release(cudaError_t error, void* pointer);

} // namespace bitgate_nvidia
