// What went wrong since the library was loaded: faults of kernels, and calls whose work was not done
// (IncidentLog).
#pragma once

#include "bitgate_host.h"

namespace bitgate_host {

// Adds to the list.
void noteIncident(const BitgateHostFault& fault);

} // namespace bitgate_host
