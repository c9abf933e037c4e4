// Races between the threads of a block, and between blocks: what the shadow is told of, and what is said when
// it finds one.
#include <algorithm>
#include <cstdio>
#include <string>

#include "block.hpp"
#include "site.hpp"

namespace bitgate_host {
namespace {

// The instruction whose low half was kept, in the library of one that is known.
uint64_t completed(uint32_t low, uint64_t near) {
  const auto distance = static_cast<int32_t>(low - static_cast<uint32_t>(near));
  return near + static_cast<uint64_t>(static_cast<int64_t>(distance));
}

const char* kindOf(bool atomic, bool write, bool blockScope) {
  if (!atomic)
    return write ? "write" : "read";
  return blockScope ? "atomic operation of block scope" : write ? "atomic update" : "atomic read";
}

} // namespace

void BlockRunner::watchRaces() {
  if (!launch->races) {
    races.reset();
    return;
  }
  if (!races)
    races = std::make_unique<RaceWatch>();
  if (!launch->turns || launch->turns->isFirst()) // one shadow, and blocks on several OS threads
    races->shadow.beginLaunch((std::string("kernel ") + launch->name).c_str());
  for (const SharedVariable& variable : *launch->shared)
    races->shadow.addLds(addressOf(variable), variable.bytes);
}

void BlockRunner::forgetMeetings() {
  races->shadow.beginStretch();
  races->lastMeeting.fill(0);
  for (Wave& wave : waves)
    wave.meetings = 0;
}

void BlockRunner::noteMeeting(Wave& wave, unsigned firstThread) {
  if (wave.meetings < 0xFFFF)
    ++wave.meetings;
  const uint64_t lanes = wave.slots[wave.current].active;
  for (unsigned lane = 0; lane < launch->waveSize; ++lane)
    if (lanes >> lane & 1)
      races->lastMeeting[firstThread + lane] = wave.meetings;
}

// What the running thread wrote last is in memory.
void BlockRunner::settlePendingWrites() {
  auto& pending = races->shadow.pendingWrites;
  if (pending.empty())
    return;
  inCallback = true;
  const auto changed = std::ranges::find_if(pending, &RaceShadow::PendingWrite::changedValue);
  const auto found = changed == pending.end() ? std::nullopt : std::optional(*changed);
  pending.clear();
  inCallback = false;
  if (found)
    raced(found->access, found->found);
}

// The running thread stops here: what it read and has not updated since is a race after all.
void BlockRunner::settlePending() {
  settlePendingWrites();
  if (!races->shadow.pendingReads.empty()) {
    const RaceShadow::PendingRead pending = races->shadow.pendingReads.front();
    races->shadow.pendingReads.clear();
    raced(pending.access, pending.found);
  }
}

void BlockRunner::fence() {
  if (running && races)
    races->shadow.fence();
}

void BlockRunner::access(RaceAccess access) {
  if (!running || !races || !access.bytes)
    return;
  settlePendingWrites();
  access.from = static_cast<const char*>(access.from) - 1;
  access.blockScope = access.atomic && blockScope;
  inCallback = true;
  const unsigned wave = current >> laneShift;
  const RacePlace at{static_cast<uint32_t>(blockNumber), races->shadow.stretch,
                     static_cast<uint16_t>(current), waves[wave].meetings};
  const auto found = races->shadow.note(access, at, {laneShift, races->lastMeeting.data()});
  inCallback = false;
  if (found)
    raced(access, *found);
  if (spunFor != 0) {
    spinning();
    leave();
  }
}

void BlockRunner::racedWithEarlier(const RaceAccess& access, const RaceFound& found, RawFault& fault) {
  const auto here = reinterpret_cast<uint64_t>(access.from);
  const Site at(here);
  const bool isTransfer = !found.other.from;
  std::snprintf(
      fault.detail, sizeof fault.detail,
      "race on %.63s, offset %llu: its %s of %llu bytes at %s and the %s by %.95s%s%s have neither a "
      "stream, an event nor a wait that orders them",
      found.where, static_cast<unsigned long long>(found.offset),
      kindOf(access.atomic, access.write, access.blockScope), static_cast<unsigned long long>(access.bytes),
      at.text, kindOf(found.other.atomic, found.otherWrote, found.other.blockScope), found.otherWork,
      isTransfer ? "" : " at ", isTransfer ? "" : Site(completed(found.other.from, here)).text);
  raceFound(fault, found.other.from);
}

void BlockRunner::raced(const RaceAccess& access, const RaceFound& found) {
  RawFault fault;
  fault.kind = bitgateFaultRace;
  fault.isWrite = access.write;
  fault.address = access.address;
  fault.from = access.from;
  if (found.otherWork)
    return racedWithEarlier(access, found, fault);
  const dim3& grid = launch->grid;
  const uint64_t block = found.other.block;
  const uint3 thread = records[found.other.thread].index;
  const bool sameBlock = found.other.block == static_cast<uint32_t>(blockNumber);
  const unsigned otherWave = found.other.thread >> laneShift;
  const bool sameWave = sameBlock && otherWave == current >> laneShift;
  const auto here = reinterpret_cast<uint64_t>(access.from);
  const Site at(here), other(completed(found.other.from, here));
  std::snprintf(
      fault.detail, sizeof fault.detail,
      "race on %.63s, offset %llu: its %s of %llu bytes at %s and the %s by block (%llu,%llu,%llu), "
      "thread (%u,%u,%u) at %s have %s between them",
      found.where, static_cast<unsigned long long>(found.offset),
      kindOf(access.atomic, access.write, access.blockScope), static_cast<unsigned long long>(access.bytes),
      at.text, kindOf(found.other.atomic, found.otherWrote, found.other.blockScope),
      static_cast<unsigned long long>(block % grid.x),
      static_cast<unsigned long long>(block / grid.x % grid.y),
      static_cast<unsigned long long>(block / (static_cast<uint64_t>(grid.x) * grid.y)), thread.x, thread.y,
      thread.z, other.text,
      sameWave    ? "neither a barrier nor a wave operation"
      : sameBlock ? "no barrier"
                  : "nothing that orders blocks");
  raceFound(fault, found.other.from);
}

// A race is no reason to stop: what was read or written is done.
void BlockRunner::raceFound(RawFault& fault, uint32_t other) {
  if (!launch->keepGoing)
    abandon(fault);
  const unsigned thread = current;
  current = self->linear;
  raiseOnce(describe(fault, launch->name, blockAt, records[current].index),
            reinterpret_cast<uint64_t>(fault.from) * 31 + other);
  current = thread;
}

} // namespace bitgate_host
