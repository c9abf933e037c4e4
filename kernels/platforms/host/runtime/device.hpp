// What the device allows.
#pragma once

#include <cstddef>

#include "settings.hpp"

namespace bitgate_host {

// Blocks of one kernel that a compute unit holds at once.
int occupancy(const Settings& settings, int blockSize, size_t dynamicLds);

} // namespace bitgate_host
