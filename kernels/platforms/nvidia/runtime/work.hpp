// The log of launches and fills (IncidentLog).
#pragma once

#include "cuda.hpp"

namespace bitgate_nvidia {

void log_launch(const void* function, dim3 grid, dim3 block);
void log_fill(const void* address, size_t bytes, const char* call);

} // namespace bitgate_nvidia
