// What went wrong since the library was loaded (IncidentLog).
#pragma once

#include <cuda_runtime_api.h>

namespace bitgate_nvidia {

// Notes that `call` failed, unless it only asked something or allocated and the context lives on.
void note(cudaError_t error, const char* call, const void* address = nullptr);
// Notes something that is no error.
void note(const char* text);

} // namespace bitgate_nvidia
