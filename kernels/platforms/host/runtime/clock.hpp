// What is known to have happened before a piece of work, or to have ended as the host sees it: a vector clock
// over streams. Sequence numbers count the work of all streams together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitgate_host {

class Clock {
public:
  bool covers(uint64_t stream, uint64_t sequence) const {
    return sequence <= all || std::ranges::any_of(reached, [=](const Reached& r) {
             return r.first == stream && sequence <= r.second;
           });
  }
  // The stream's work up to a sequence number.
  void reach(uint64_t stream, uint64_t sequence) {
    if (sequence <= all)
      return;
    const auto at = std::ranges::find(reached, stream, &Reached::first);
    if (at == reached.end())
      reached.emplace_back(stream, sequence);
    else
      at->second = std::max(at->second, sequence);
  }
  // All work of all streams up to a sequence number.
  void reachAll(uint64_t sequence) {
    all = std::max(all, sequence);
    std::erase_if(reached, [this](const Reached& r) { return r.second <= all; });
  }
  void join(const Clock& other) {
    reachAll(other.all);
    for (const auto& [stream, sequence] : other.reached)
      reach(stream, sequence);
  }

private:
  using Reached = std::pair<uint64_t, uint64_t>;
  uint64_t all = 0;
  std::vector<Reached> reached;
};

} // namespace bitgate_host
