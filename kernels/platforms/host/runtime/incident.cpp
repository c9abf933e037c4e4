#include "incident.hpp"

#include "hip/host_detail/incident_log.hpp"

namespace bitgate_host {

static IncidentLog<BitgateHostFault> incidents;

void noteIncident(const BitgateHostFault& fault) {
  incidents.add(fault);
}

} // namespace bitgate_host

extern "C" {

uint64_t bitgateHostIncidents(void) {
  return bitgate_host::incidents.count();
}

int bitgateHostIncident(uint64_t number, BitgateHostFault* fault) {
  return fault && bitgate_host::incidents.read(number, *fault) ? 0 : 1;
}

} // extern "C"
