#include "race.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <utility>

#include "memory.hpp"
#include "stream.hpp"

namespace bitgate_host {
namespace {

// Buffers and LDS have guard zones at least this wide, so that no two of them share a page.
constexpr unsigned pageShift = 16;
constexpr unsigned coarsest = 2;
constexpr size_t mostKept = size_t{512} << 20; // bytes of cells, from one launch to the next
constexpr size_t mostRegions = 256;
constexpr size_t mostEarlier = 1024;

unsigned shiftFor(const RaceAccess& access) {
  return static_cast<unsigned>(std::countr_zero(access.address | access.bytes | 1u << coarsest));
}

} // namespace

void RaceShadow::release() {
  for (const auto& region : regions)
    drop(*region);
  regions.clear();
}

bool RaceShadow::PendingWrite::changedValue() const {
  return std::memcmp(reinterpret_cast<const void*>(access.address), before.data(), access.bytes) != 0;
}

// Cells keep what they know: it is told to be of another launch by its stretch.
void RaceShadow::beginLaunch(const char* work) {
  if (mapped > mostKept || regions.size() > mostRegions)
    release();
  pages.fill({});
  released.clear();
  launchStretch = firstStretch = ++stretch;
  const WorkPlace* const place = runningWork();
  before = place ? place->before : Clock{};
  const auto open = std::ranges::find_if(
      earlier, [this](const Earlier& e) { return !before.covers(e.stream, e.sequence); });
  firstUnordered = !place || open == earlier.end() ? firstStretch : open->firstStretch;
  if (earlier.size() == mostEarlier)
    earlier.pop_front();
  earlier.push_back({firstStretch, place ? place->stream : 0, place ? place->sequence : 0, {}});
  std::snprintf(earlier.back().work, sizeof earlier.back().work, "%s", work);
  beginBlock();
}

void RaceShadow::beginPhase() {
  released.clear();
  firstStretch = ++stretch;
  beginBlock();
}

void RaceShadow::beginBlock() {
  acquired.clear();
  met.clear();
  pendingReads.clear();
  pendingWrites.clear();
  fenced = false;
}

void RaceShadow::drop(Region& region) {
  if (!region.cells)
    return;
  munmap(region.cells, region.mapped);
  mapped -= region.mapped;
  region.cells = nullptr;
}

// Puts the slot of a new access in front; what it displaces stays when it is further away than what stood
// second.
void RaceShadow::remember(RaceSlot (&slots)[2], const RaceSlot& now, bool lds, unsigned laneShift) const {
  const auto distance = [&](const RaceSlot& s) {
    if (!isOfThisLaunch(s))
      return !lds && unordered(s) ? 5 : 0;
    const bool stale = s.block == now.block ? s.stretch != now.stretch : lds;
    return stale                                              ? 0
           : s.block != now.block                             ? 4
           : s.thread >> laneShift != now.thread >> laneShift ? 3
           : s.thread != now.thread                           ? 2
                                                              : 1;
  };
  const bool sameThread = slots[0].block == now.block && slots[0].thread == now.thread;
  if (!sameThread && distance(slots[0]) >= distance(slots[1]))
    slots[1] = slots[0];
  slots[0] = now;
}

void RaceShadow::addLds(const void* begin, size_t bytes) {
  const auto from = reinterpret_cast<uint64_t>(begin);
  for (const auto& region : regions)
    if (region->lds && region->begin == from && region->end == from + bytes)
      return;
  auto region = std::make_unique<Region>();
  region->begin = from, region->end = from + bytes;
  region->lds = true;
  std::snprintf(region->name, sizeof region->name, "LDS");
  // A former block's LDS may lie where this one's does.
  std::erase_if(regions, [&](const auto& old) {
    const bool replaced = old->lds && old->begin < region->end && region->begin < old->end;
    if (replaced)
      drop(*old);
    return replaced;
  });
  regions.push_back(std::move(region));
  pages.fill({});
}

RaceShadow::Region* RaceShadow::regionAt(uint64_t address) {
  const uint64_t number = address >> pageShift;
  Page& page = pages[number % pages.size()];
  if (page.number != number)
    page = {number, lookUp(address)};
  const auto contains = [address](const Region& region) {
    return address >= region.begin && address < region.end;
  };
  if (!page.region || contains(*page.region))
    return page.region;
  // Plain __shared__ variables lie side by side.
  const auto other =
      std::find_if(regions.begin(), regions.end(), [&](const auto& r) { return contains(*r); });
  return other == regions.end() ? nullptr : other->get();
}

RaceShadow::Region* RaceShadow::lookUp(uint64_t address) {
  const uint64_t number = address >> pageShift;
  const auto isOnPage = [&](const Region& region) {
    return region.begin >> pageShift <= number && number <= (region.end - 1) >> pageShift;
  };
  for (const auto& region : regions)
    if (region->lds && isOnPage(*region))
      return region.get();
  const auto buffer = findBufferNear(address);
  if (!buffer || buffer->freed || !buffer->bytes)
    return nullptr;
  const uint64_t end = buffer->begin + buffer->bytes;
  for (const auto& region : regions)
    if (region->begin == buffer->begin && region->end == end && region->buffer == buffer->number) {
      std::memcpy(region->name, buffer->name, sizeof region->name);
      return region.get();
    }
  // A buffer that lay here before has been freed.
  std::erase_if(regions, [&](const auto& old) {
    const bool replaced = !old->lds && isOnPage(*old);
    if (replaced)
      drop(*old);
    return replaced;
  });
  auto region = std::make_unique<Region>();
  region->begin = buffer->begin, region->end = buffer->begin + buffer->bytes;
  region->buffer = buffer->number;
  std::memcpy(region->name, buffer->name, sizeof region->name);
  regions.push_back(std::move(region));
  return regions.back().get();
}

// Cells of 1 << shift bytes; what larger cells knew, or all alike, is each one's.
bool RaceShadow::layOut(Region& region, unsigned shift) {
  const size_t count = ((region.end - 1) >> shift) - (region.begin >> shift) + 1;
  const size_t bytes = count * sizeof(Cell);
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  Cell* const cells = static_cast<Cell*>(memory);
  if (region.cells) {
    const uint64_t first = region.begin >> shift;
    for (size_t i = 0; i < count; ++i)
      cells[i] = region.cells[((first + i) >> (region.shift - shift)) - (region.begin >> region.shift)];
    drop(region);
  } else if (region.alike.writers[0].stretch || region.alike.readers[0].stretch) {
    std::fill_n(cells, count, region.alike);
  }
  region.cells = cells;
  region.mapped = bytes;
  mapped += bytes;
  region.shift = shift;
  return true;
}

bool RaceShadow::orderedByFence(uint32_t block) const {
  return std::any_of(acquired.begin(), acquired.end(), [&](uint64_t address) {
    const auto blocks = released.find(address);
    return blocks != released.end() && blocks->second.contains(block);
  });
}

// An atomic operation: what its block did before its last fence is known to blocks that come to the same
// address later.
void RaceShadow::synchronise(uint64_t address, uint32_t block) {
  std::vector<uint64_t>& known = fenced ? acquired : met;
  if (std::find(known.begin(), known.end(), address) == known.end())
    known.push_back(address);
  if (fenced)
    released[address].insert(block);
}

// A variable of the program or a library, such as a counter of blocks: no plain LDS, and no stack.
bool RaceShadow::isVariable(uint64_t address) {
  const auto [known, isNew] = variables.try_emplace(address, false);
  Dl_info info{};
  if (isNew)
    known->second = dladdr(reinterpret_cast<const void*>(address), &info) != 0;
  return known->second;
}

const RaceShadow::Earlier* RaceShadow::unordered(const RaceSlot& slot) const {
  if (slot.stretch < firstUnordered || slot.stretch >= launchStretch || earlier.empty() ||
      slot.stretch < earlier.front().firstStretch)
    return nullptr;
  const auto next = std::ranges::upper_bound(earlier, slot.stretch, {}, &Earlier::firstStretch);
  const Earlier& work = *std::prev(next);
  return before.covers(work.stream, work.sequence) ? nullptr : &work;
}

bool RaceShadow::races(const RaceSlot& before, bool lds, const RaceAccess& access, const RacePlace& at,
                       const RaceOrder& order) const {
  const bool areAtomic = before.atomic && access.atomic;
  if (!isOfThisLaunch(before))
    return !lds && !areAtomic && unordered(before);
  if (areAtomic && (before.block == at.block || !(before.blockScope || access.blockScope)))
    return false;
  if (before.block != at.block)
    return !lds && !orderedByFence(before.block);
  if (before.thread == at.thread || before.stretch != at.stretch)
    return false;
  if (before.thread >> order.laneShift != at.thread >> order.laneShift)
    return true;
  // In one stretch a lane that misses a meeting comes to none after it: two lanes that have both been to one
  // since then have been to the same.
  return !(order.lastMeeting[before.thread] > before.meeting &&
           order.lastMeeting[at.thread] > before.meeting);
}

std::optional<RaceFound> RaceShadow::note(const RaceAccess& access, const RacePlace& at,
                                          const RaceOrder& order) {
  Region* const region = regionAt(access.address);
  if (!region) {
    if (access.atomic && !access.blockScope && isVariable(access.address))
      synchronise(access.address, at.block);
    return std::nullopt;
  }
  // Copies and fills mostly are of whole buffers, which no cells need be laid out for.
  const bool areAlike =
      !region->cells && access.address == region->begin && access.address + access.bytes == region->end;
  if (const unsigned shift = shiftFor(access); !areAlike && (!region->cells || shift < region->shift))
    if (!layOut(*region, std::min(shift, region->shift)))
      return std::nullopt;
  if (access.atomic && !access.blockScope && !region->lds)
    synchronise(access.address, at.block);
  if (access.atomic && access.write)
    std::erase_if(pendingReads, [&](const PendingRead& pending) {
      return pending.access.address < access.address + access.bytes &&
             access.address < pending.access.address + pending.access.bytes;
    });
  const RaceSlot now{static_cast<uint32_t>(reinterpret_cast<uint64_t>(access.from)),
                     at.block,
                     at.stretch,
                     at.meeting,
                     at.thread,
                     access.atomic,
                     access.blockScope};
  const bool mayWriteTheSame = access.write && !access.atomic && !access.reads && access.from &&
                               access.bytes <= PendingWrite{}.before.size();
  bool isOpen = false; // what it writes decides
  const uint64_t first = region->begin >> region->shift;
  const uint64_t last = areAlike ? access.address : std::min(access.address + access.bytes, region->end) - 1;
  for (uint64_t i = access.address >> region->shift; i <= last >> region->shift; ++i) {
    Cell& cell = areAlike ? region->alike : region->cells[i - first];
    const auto found = [&](const RaceSlot& other, bool otherWrote) {
      const Earlier* const work = isOfThisLaunch(other) ? nullptr : unordered(other);
      RaceFound race{other, otherWrote, region->lds, work ? work->work : nullptr, 0, {}};
      race.offset = std::max(i << region->shift, access.address) - region->begin;
      std::memcpy(race.where, region->name, sizeof race.where);
      return race;
    };
    for (const RaceSlot& writer : cell.writers) {
      if (!races(writer, region->lds, access, at, order))
        continue;
      if (mayWriteTheSame && !writer.atomic && isOfThisLaunch(writer)) {
        if (!std::exchange(isOpen, true)) {
          PendingWrite& pending = pendingWrites.emplace_back(PendingWrite{access, found(writer, true), {}});
          std::memcpy(pending.before.data(), reinterpret_cast<const void*>(access.address), access.bytes);
        }
        continue;
      }
      if (access.write || !writer.atomic)
        return found(writer, true);
      pendingReads.push_back({access, found(writer, true)});
    }
    if (access.atomic && access.write)
      for (RaceSlot& reader : cell.readers)
        reader.atomic |=
            reader.block == at.block && reader.thread == at.thread; // the read before it was pending
    if (access.write)
      for (const RaceSlot& reader : cell.readers)
        if (races(reader, region->lds, access, at, order))
          return found(reader, false);
    remember(access.write ? cell.writers : cell.readers, now, region->lds, order.laneShift);
  }
  return std::nullopt;
}

} // namespace bitgate_host
