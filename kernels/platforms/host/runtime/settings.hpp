// What a test can set (bitgate_host.h). A launch takes a copy of the settings when it is enqueued.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bitgate_host.h"
#include "poison.hpp"

namespace bitgate_host {

struct Settings {
  unsigned threads = 0; // 0: BITGATE_THREADS, or else the cores available
  unsigned waveSize = 64;
  unsigned computeUnits = 8;
  unsigned occupancy = 0; // 0: computed
  size_t ldsLimit = 64 * 1024;
  size_t totalMemory = 0; // 0: the machine's
  int schedule = bitgateHostForward;
  uint64_t seed = 0;
  int placement = bitgateHostRight;
  Poison poison;
  bool eager = false;
  double spinSeconds = 0; // 0: BITGATE_SPIN_SECONDS, or else 20
  uint32_t changes = 0;   // calls that have set something
};

Settings settings();

unsigned threadsOf(const Settings& settings);
double spinLimitOf(const Settings& settings);
size_t totalMemoryOf(const Settings& settings);

} // namespace bitgate_host
