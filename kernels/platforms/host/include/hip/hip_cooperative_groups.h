// Cooperative groups of the host: the grid, the block, and lanes of a wave, as tiles or as those that are at
// a place together. Lanes meet by source line, as in wave operations.
#pragma once

#include <hip/hip_runtime.h>

#include "hip/host_detail/group_algorithms.hpp"
#include "hip/host_detail/groups.hpp"
