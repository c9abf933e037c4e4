// The OS threads that run blocks, and poison large buffers.
#pragma once

#include <cstddef>

#include "block.hpp"

namespace bitgate_host {

// Runs all blocks of the launch on the calling thread and up to `threads` - 1 others, and returns when they
// have ended. False when a block faulted; the blocks not yet begun are then left out. One launch at a time.
bool runBlocks(const Launch& launch, unsigned threads, size_t* ldsUsed);

// memset on the calling thread and up to `threads` - 1 others: alone if it is small, or they have work.
void fillMemory(char* begin, unsigned char byte, size_t bytes, unsigned threads);

} // namespace bitgate_host
