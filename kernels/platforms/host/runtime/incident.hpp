// What went wrong since the library was loaded: faults of kernels, and calls whose work was not done. The
// list only grows: whoever asks afterwards learns what the program in between read, cleared and did not tell.
#pragma once

#include "bitgate_host.h"

namespace bitgate_host {

// Adds to the list.
void noteIncident(const BitgateHostFault& fault);

} // namespace bitgate_host
