#include "schedule.hpp"

#include <numeric>
#include <utility>

#include "bitgate_host.h"

namespace bitgate_host {

uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

bool Schedule::wavesFirst() const {
  return kind == bitgateHostForward || kind == bitgateHostReverse;
}

bool Schedule::varies() const {
  return kind == bitgateHostRandom;
}

void Schedule::threads(uint16_t* order, unsigned count, uint64_t block, uint64_t epoch) const {
  for (unsigned i = 0; i < count; ++i)
    order[i] = static_cast<uint16_t>(kind == bitgateHostReverse ? count - 1 - i : i);
  if (kind != bitgateHostRandom)
    return;
  uint64_t state = mixed(seed ^ mixed(block ^ mixed(epoch)));
  for (unsigned i = count; i > 1; --i) {
    state = mixed(state);
    std::swap(order[i - 1], order[static_cast<unsigned>((state >> 32) * i >> 32)]);
  }
}

int Schedule::step() const {
  return kind == bitgateHostRandom ? 0 : kind == bitgateHostReverse ? -1 : 1;
}

uint64_t Schedule::block(uint64_t index, uint64_t count) const {
  if (kind == bitgateHostReverse)
    return count - 1 - index;
  if (kind != bitgateHostRandom)
    return index;
  // i -> (a i + b) mod count with a coprime to count visits each block once.
  uint64_t a = mixed(seed) % count | 1;
  while (std::gcd(a, count) != 1)
    a += 2;
  const auto product = static_cast<unsigned __int128>(a % count) * index + mixed(~seed) % count;
  return static_cast<uint64_t>(product % count);
}

} // namespace bitgate_host
