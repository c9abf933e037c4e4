// The blocks of a cooperative launch: each on a separate OS thread, and one of them runs at a time, in the
// schedule's order, from one barrier of the grid to the next.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace bitgate_host {

class GridTurns {
public:
  explicit GridTurns(uint64_t blocks);

  // Waits for the turn of the block at this place of the order; false: the launch has ended before.
  bool begin(uint64_t at);
  struct Met {
    bool ended = false;   // by a fault of another block
    bool isFirst = false; // of this stretch
    uint64_t missing = 0; // blocks that have left the kernel
  };
  Met sync(uint64_t at);
  void end(uint64_t at);
  void stop();
  uint64_t count() const { return blocks; }
  // Whether no block had asked before.
  bool isFirst() { return !std::exchange(asked, true); }

private:
  void pass(uint64_t at);
  void giveTurn(uint64_t at);
  uint64_t liveFrom(uint64_t at) const;

  std::mutex guard;
  uint64_t blocks, turn = 0, done = 0, missing = 0;
  bool stopped = false, asked = false;
  std::unique_ptr<bool[]> hasEnded;
  std::unique_ptr<std::condition_variable[]> wake; // one a block: one waits at each
};

} // namespace bitgate_host
