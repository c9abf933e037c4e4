// The waves of a block: meetings of lanes, and the count of operations that lane 0 performs for all.
#include <algorithm>
#include <bit>
#include <cstdio>

#include "block.hpp"

namespace bitgate_host {

const ThreadRecord* BlockRunner::waveExchange(unsigned site, uint64_t bits, void* stack) {
  noteEach();
  if (turns)
    endTurns();
  const unsigned number = current >> laneShift;
  Wave& wave = waves[number];
  const unsigned lane = current & (launch->waveSize - 1);
  if (wave.arrived && wave.site != site)
    divergent(wave, site);
  WaveSlots& slots = wave.slots[wave.current];
  slots.value[lane] = bits;
  wave.site = site;
  wave.arrived |= 1ull << lane;
  if (static_cast<unsigned>(std::popcount(wave.arrived)) == wave.live) {
    completeWave(wave, number);
    if (!wavesFirst) {
      // This thread is ready as well: it goes on at once, its turn in the order is the others' too.
      const unsigned at = position[current];
      ready[at / 64] &= ~(1ull << at % 64);
      records[current].stack = stack;
      records[current].slots = &slots;
      return &records[current];
    }
  }
  records[current].slots = &slots;
  return park(State::AtWave, stack);
}

void BlockRunner::divergent(const Wave& wave, unsigned site) {
  RawFault fault;
  fault.kind = bitgateFaultDivergentWaveOp;
  std::snprintf(fault.detail, sizeof fault.detail,
                "divergent wave operation: lane %u of wave %u is at source line %u, lane %d waits at line %u",
                records[current].lane, current >> laneShift, site & 0xFFFFFF, std::countr_zero(wave.arrived),
                wave.site & 0xFFFFFF);
  abandon(fault);
}

void BlockRunner::completeWave(Wave& wave, unsigned number) {
  WaveSlots& slots = wave.slots[wave.current];
  slots.active = wave.arrived;
  for (uint64_t absent = ~wave.arrived; absent; absent &= absent - 1)
    slots.value[std::countr_zero(absent)] = ~0ull;
  const unsigned first = number << laneShift;
  for (uint64_t lanes = wave.arrived; lanes; lanes &= lanes - 1)
    setReady(first + static_cast<unsigned>(std::countr_zero(lanes)));
  if (races)
    noteMeeting(wave, first);
  wave.arrived = 0;
  wave.current ^= 1;
  if (wavesFirst) // back to the wave's first lane: its lanes are next, in order
    cursor = std::min(position[first], position[std::min(first + launch->waveSize, count) - 1]);
}

// The lanes of each wave must have counted the same operations: lane 0 performs them for all. Where none has
// counted since they were compared there is nothing to compare.
bool BlockRunner::waveOpsAgree() {
  if (!waveOpsCounted)
    return true;
  for (unsigned first = 0; first < count; first += launch->waveSize) {
    const unsigned end = std::min(first + launch->waveSize, count);
    unsigned differs = 0;
    for (unsigned t = first; t < end; ++t)
      differs |=
          (records[t].waveOps ^ records[first].waveOps) | (records[t].waveOpHash ^ records[first].waveOpHash);
    if (differs)
      return disagree(first);
  }
  waveOpsCounted = false;
  recordsCounted = true;
  return true;
}

bool BlockRunner::disagree(unsigned first) {
  current = first;
  while (records[current].waveOps == records[first].waveOps &&
         records[current].waveOpHash == records[first].waveOpHash)
    ++current;
  raw.kind = bitgateFaultDivergentWaveOp;
  std::snprintf(
      raw.detail, sizeof raw.detail,
      "divergent wave operation: by %s lane %u of wave %u took part in %u wave operations, lane 0 in %u%s",
      done == count ? "the kernel's end" : "the barrier", records[current].lane, current >> laneShift,
      records[current].waveOps, records[first].waveOps,
      records[current].waveOps == records[first].waveOps ? ", of other kinds" : "");
  return false;
}

} // namespace bitgate_host
