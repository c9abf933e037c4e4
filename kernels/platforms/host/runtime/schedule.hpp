// The order in which threads and blocks run: forward, reverse, random from a seed, or in lockstep. Pure
// functions, so that an order depends on (seed, block, epoch) alone and never on how many OS threads there
// are.
#pragma once

#include <cstdint>

namespace bitgate_host {

// SplitMix64: a counter-based generator, good enough to shuffle with.
uint64_t mixed(uint64_t x);

struct Schedule {
  int kind;
  uint64_t seed;

  // Fills order[0..count) with a permutation of the block's threads for one stretch between barriers.
  void threads(uint16_t* order, unsigned count, uint64_t block, uint64_t epoch) const;
  // From a thread to the next in that order; 0 where it is not the same everywhere.
  int step() const;
  // The block that runs as the `index`-th of `count`.
  uint64_t block(uint64_t index, uint64_t count) const;
  // Whether two epochs of one block can differ in order.
  bool varies() const;
  // Whether a wave runs to its next barrier or end, through its wave operations, before another starts. Then
  // forward and reverse are each other's exact opposite: whatever two threads do between two barriers, or two
  // lanes between two wave operations, happens in both orders.
  bool wavesFirst() const;
};

} // namespace bitgate_host
