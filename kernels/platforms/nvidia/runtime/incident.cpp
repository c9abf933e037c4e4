#include "incident.hpp"

#include <cstdio>
#include <string_view>

#include "bitgate_nvidia.h"
#include "cuda.hpp"
#include "hip/host_detail/incident_log.hpp"

namespace bitgate_nvidia {
namespace {

bitgate_host::IncidentLog<BitgateNvidiaIncident> incidents;

// A context that had one of these does nothing any more.
bool endsTheContext(cudaError_t error) {
  switch (error) {
  case cudaErrorIllegalAddress:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorIllegalInstruction:
  case cudaErrorHardwareStackError:
  case cudaErrorLaunchFailure:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorECCUncorrectable:
    return true;
  default:
    return false;
  }
}

bool isOfCapture(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

// HIP's names tell which calls a caller can do without.
bool mayFail(std::string_view call) {
  for (const std::string_view word :
       {"Get", "Query", "CanAccess", "Occupancy", "Malloc", "HostAlloc", "HostRegister", "SetLimit",
        "SetCacheConfig", "FuncSetAttribute", "hipInit", "hipSetDevice", "ComputeCapability", "TotalMem",
        "ElapsedTime"})
    if (call.find(word) != call.npos)
      return true;
  return false;
}

} // namespace

void note(cudaError_t error, const char* call, const void* address) {
  if (error == cudaSuccess || error == cudaErrorNotReady ||
      (mayFail(call) && !endsTheContext(error) && !isOfCapture(error)))
    return;
  BitgateNvidiaIncident incident{};
  incident.error = translate(error);
  incident.address = reinterpret_cast<uint64_t>(address);
  if (address != nullptr)
    std::snprintf(incident.text, sizeof incident.text, "%s of %p: %s", call, address,
                  cudaGetErrorString(error));
  else
    std::snprintf(incident.text, sizeof incident.text, "%s: %s", call, cudaGetErrorString(error));
  incidents.add(incident);
}

void note(const char* text) {
  BitgateNvidiaIncident incident{};
  std::snprintf(incident.text, sizeof incident.text, "%s", text);
  incidents.add(incident);
}

} // namespace bitgate_nvidia

using namespace bitgate_nvidia;

extern "C" {

uint64_t bitgateNvidiaIncidents(void) {
  return incidents.count();
}

int bitgateNvidiaIncident(uint64_t number, BitgateNvidiaIncident* incident) {
  return incident != nullptr && incidents.read(number, *incident) ? 0 : 1;
}

} // extern "C"
