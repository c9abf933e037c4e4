#include "lds.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "bitgate_host.h"
#include "memory.hpp"

namespace bitgate_host {
namespace {

constexpr size_t page = 4096;
constexpr size_t guardZone = 64 * 1024;

// Slack is less than a page: what it must look like.
constexpr auto canaryPage = [] {
  std::array<char, page> bytes{};
  bytes.fill(static_cast<char>(canaryByte));
  return bytes;
}();

size_t roundUp(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

} // namespace

char* Lds::Slot::inner() const {
  return base + guardZone;
}
char* Lds::Slot::usable() const {
  return placement == bitgateHostLeft ? inner() : inner() + capacity - accessible;
}

Lds::~Lds() {
  for (const Slot& slot : slots)
    if (slot.base)
      munmap(slot.base, slot.capacity + 2 * guardZone);
}

void Lds::beginBlock(int placement_, Poison poison_, size_t limit_) {
  used = 0;
  total = 0;
  placement = placement_;
  poison = poison_;
  limit = limit_;
}

// Makes exactly the pages that `bytes` need accessible, and fills the slack with canaries.
bool Lds::layOut(Slot& slot, size_t bytes, size_t alignment) {
  const size_t pages = roundUp(std::max(bytes, size_t{1}), page);
  if (!slot.base || slot.capacity < pages) {
    if (slot.base)
      munmap(slot.base, slot.capacity + 2 * guardZone);
    slot = {};
    void* base =
        mmap(nullptr, pages + 2 * guardZone, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      return false;
    slot.base = static_cast<char*>(base);
    slot.capacity = pages;
  }
  if (slot.accessible != pages || slot.placement != placement) {
    if (mprotect(slot.inner(), slot.capacity, PROT_NONE) != 0)
      return false;
    slot.accessible = pages;
    slot.placement = placement;
    if (mprotect(slot.usable(), pages, PROT_READ | PROT_WRITE) != 0)
      return false;
  }
  char* const low = slot.usable();
  slot.begin = placement == bitgateHostLeft ? low : low + (pages - bytes) / alignment * alignment;
  slot.bytes = bytes;
  std::memset(low, canaryByte, static_cast<size_t>(slot.begin - low));
  char* const end = slot.begin + bytes;
  std::memset(end, canaryByte, static_cast<size_t>(low + pages - end));
  return true;
}

void* Lds::region(const void* site, size_t bytes, size_t alignment) {
  for (unsigned i = 0; i < used; ++i)
    if (regions[i].site == site && regions[i].bytes == bytes)
      return regions[i].begin;
  total += bytes;
  if (used == maxLdsRegions || total > limit)
    return nullptr;
  Slot& slot = slots[used];
  const bool fits = slot.bytes == bytes && slot.placement == placement && slot.begin &&
                    reinterpret_cast<uintptr_t>(slot.begin) % alignment == 0;
  if (!fits && !layOut(slot, bytes, alignment))
    return nullptr;
  if (poison)
    std::memset(slot.begin, poison.byte, bytes);
  regions[used++] = {site, slot.begin, bytes};
  return slot.begin;
}

std::optional<Lds::Near> Lds::takeDamage() {
  for (unsigned i = 0; i < used; ++i) {
    Slot& slot = slots[i];
    char* const low = slot.usable();
    char* const end = slot.begin + slot.bytes;
    for (auto [from, to] : {std::pair{low, slot.begin}, std::pair{end, low + slot.accessible}}) {
      const auto length = static_cast<size_t>(to - from);
      if (std::memcmp(from, canaryPage.data(), length) == 0)
        continue;
      const char* const bad =
          std::find_if(from, to, [](char c) { return static_cast<unsigned char>(c) != canaryByte; });
      const Near found{regions[i], bad - slot.begin};
      std::memset(from, canaryByte, length);
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Lds::Near> Lds::near(uint64_t address) const {
  for (unsigned i = 0; i < used; ++i) {
    const auto from = reinterpret_cast<uint64_t>(slots[i].base);
    if (address >= from && address < from + slots[i].capacity + 2 * guardZone)
      return Near{regions[i], static_cast<int64_t>(address - reinterpret_cast<uint64_t>(slots[i].begin))};
  }
  return std::nullopt;
}

} // namespace bitgate_host
