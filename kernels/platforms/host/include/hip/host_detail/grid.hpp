// Cooperative launches: all blocks are resident, and wait for each other.
#pragma once

#include "hip/host_detail/abi.hpp"

extern "C" {
// The next launch of this OS thread is cooperative.
BITGATE_API void __bitgate_cooperative_next(void);
// By one thread of each block, between two barriers of the block.
BITGATE_API void __bitgate_grid_sync(void);
}
