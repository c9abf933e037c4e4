// LDS of the blocks of one OS thread: a guarded region for each struct that a kernel declares, and for its
// dynamic shared memory. Poisoned when a block first asks for it, its slack checked when the block ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "poison.hpp"

namespace bitgate_host {

constexpr size_t ldsAlignment = 16; // of dynamic shared memory
constexpr unsigned maxLdsRegions = 8;

class Lds {
public:
  struct Region {
    const void* site = nullptr;
    char* begin = nullptr;
    size_t bytes = 0;
  };
  struct Near {
    Region region;
    int64_t offset; // of the address, from the region's begin
  };

  Lds() = default;
  Lds(const Lds&) = delete;
  ~Lds();

  void beginBlock(int placement, Poison poison, size_t limit);
  // The region of `site`, made when this block has none yet. Null when it does not fit (see `wanted`).
  void* region(const void* site, size_t bytes, size_t alignment);
  // The first slack byte that the block wrote; mends the slack for the next block.
  std::optional<Near> takeDamage();
  // The region whose mapping contains the address.
  std::optional<Near> near(uint64_t address) const;
  // LDS bytes that the block asked for so far, refused ones included.
  size_t wanted() const { return total; }

private:
  // Address space for one region; `accessible` bytes of it, at one end, are not guard.
  struct Slot {
    char* base = nullptr;
    size_t capacity = 0;
    size_t accessible = 0;
    int placement = -1;
    char* begin = nullptr; // the region that the canaries lie around
    size_t bytes = 0;

    char* inner() const;
    char* usable() const;
  };
  bool layOut(Slot& slot, size_t bytes, size_t alignment);

  std::array<Slot, maxLdsRegions> slots;
  std::array<Region, maxLdsRegions> regions;
  unsigned used = 0;
  size_t total = 0;
  size_t limit = 0;
  int placement = 0;
  Poison poison;
};

} // namespace bitgate_host
