#include "grid.hpp"

namespace bitgate_host {

GridTurns::GridTurns(uint64_t blocks_)
    : blocks(blocks_), hasEnded(std::make_unique<bool[]>(blocks_)),
      wake(std::make_unique<std::condition_variable[]>(blocks_)) {}

bool GridTurns::begin(uint64_t at) {
  std::unique_lock lock(guard);
  wake[at].wait(lock, [&] { return stopped || turn == at; });
  return !stopped;
}

GridTurns::Met GridTurns::sync(uint64_t at) {
  std::unique_lock lock(guard);
  pass(at);
  wake[at].wait(lock, [&] { return stopped || turn == at; });
  return {stopped, at == liveFrom(0), missing};
}

void GridTurns::end(uint64_t at) {
  std::lock_guard lock(guard);
  hasEnded[at] = true;
  ++done;
  pass(at);
}

void GridTurns::stop() {
  std::lock_guard lock(guard);
  stopped = true;
  for (uint64_t at = 0; at < blocks; ++at)
    wake[at].notify_all();
}

uint64_t GridTurns::liveFrom(uint64_t at) const {
  while (at < blocks && hasEnded[at])
    ++at;
  return at;
}

// Behind the last block the barrier is complete: all that have not ended wait at it.
void GridTurns::pass(uint64_t at) {
  if (const uint64_t next = liveFrom(at + 1); next < blocks)
    return giveTurn(next);
  missing = done;
  if (const uint64_t first = liveFrom(0); first < blocks)
    giveTurn(first);
}

void GridTurns::giveTurn(uint64_t at) {
  turn = at;
  wake[at].notify_all();
}

} // namespace bitgate_host
