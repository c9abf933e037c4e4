// HIP's error state: the last error of each host thread, and the fault of asynchronous work that the next
// synchronising call reports.
#pragma once

#include "hip/hip_runtime_api.h"

namespace bitgate_host {

// Remembers `error` as this host thread's last one and returns it.
hipError_t finish(hipError_t error);

// The same with a sentence for bitgateHostLastFault: what was wrong, where, what to do. For calls that are
// refused.
[[gnu::format(printf, 2, 3)]] hipError_t fail(hipError_t error, const char* format, ...);

// The same for a call whose work is not done (a launch, a copy, a free, a wait): an incident (incident.hpp).
[[gnu::format(printf, 2, 3)]] hipError_t failWork(hipError_t error, const char* format, ...);

// False when this CPU lacks x86-64-v3: then every call returns hipErrorNoDevice.
bool cpuIsSupported();

// The thread runs a host function of a stream: no HIP function may be called from there.
struct HostFunctionScope {
  HostFunctionScope();
  ~HostFunctionScope();
};

// hipSuccess, or why the function cannot be called now.
hipError_t enterCall(const char* function);

} // namespace bitgate_host

// First line of each entry point.
#define BITGATE_ENTRY                                                                                        \
  if (const hipError_t refused = ::bitgate_host::enterCall(__func__))                                        \
  return refused
