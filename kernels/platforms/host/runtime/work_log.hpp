// What programs enqueued since the library was loaded: launches and fills, in their order.
#pragma once

#include <cstddef>

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

void logLaunch(const LaunchRequest& request);
void logFill(const void* address, size_t bytes, const char* call);

} // namespace bitgate_host
