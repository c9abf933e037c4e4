// The OS threads that run blocks.
#pragma once

#include <functional>

#include "block.hpp"

namespace bitgate_host {

// Runs all blocks of the launch on the calling thread and up to `threads` - 1 others, and returns when they
// have ended. False when a block faulted; the blocks not yet begun are then left out. One launch at a time.
bool runBlocks(const Launch& launch, unsigned threads, size_t* ldsUsed);

} // namespace bitgate_host
