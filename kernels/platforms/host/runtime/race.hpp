// Who touched which cell of LDS and device memory, and whether two accesses race: in one launch, or of two
// pieces of work that neither a stream nor an event nor a wait orders. Fed by kernels that are compiled with
// -fsanitize=thread, whose callbacks are ours (race_callbacks.cpp), and by copies and fills. Such launches
// run on one OS thread, one after the other: one shadow serves them all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "clock.hpp"

namespace bitgate_host {

// A thread at the moment of its access. `meeting` counts the wave operations that its wave has completed
// since the last barrier: lanes that met are ordered.
struct RacePlace {
  uint32_t block;
  uint32_t stretch; // RaceShadow::stretch
  uint16_t thread;
  uint16_t meeting;
};

struct RaceAccess {
  uint64_t address;
  uint64_t bytes;
  bool write;
  bool atomic;
  const void* from;        // the instruction; null: a copy or a fill
  bool blockScope = false; // of an atomic operation that other blocks need not see
  bool reads = false;      // a write that depends on what was there
};

// What is remembered of an access.
struct RaceSlot {
  uint32_t from; // the low half of the instruction's address
  uint32_t block;
  uint32_t stretch; // 0: no access yet
  uint16_t meeting;
  uint16_t thread : 10, atomic : 1, blockScope : 1;
};

// The wave that a thread belongs to, and the last meeting since the barrier that each thread of the block
// took part in.
struct RaceOrder {
  unsigned laneShift;
  const uint16_t* lastMeeting;
};

struct RaceFound {
  RaceSlot other;
  bool otherWrote;
  bool lds;
  const char* otherWork = nullptr; // null: the same; valid until the next launch
  uint64_t offset;                 // in the buffer, the LDS struct or the shared variable
  char where[64];                  // the buffer's name, or LDS
};

class RaceShadow {
public:
  RaceShadow() = default;
  RaceShadow(const RaceShadow&) = delete;
  ~RaceShadow() { release(); }

  // Before a launch, or other work of that name.
  void beginLaunch(const char* work);
  void beginBlock();
  // After a barrier of the grid: what its blocks did before is ordered.
  void beginPhase();
  // Between two barriers of one block: no two stretches have the same number, of whatever block or launch.
  void beginStretch() { ++stretch; }
  uint32_t stretch = 1;
  // LDS of the block that runs: `begin` stays where it is from block to block, mostly.
  void addLds(const void* begin, size_t bytes);

  // Notes the access; the earlier one that it races with, if there is one.
  std::optional<RaceFound> note(const RaceAccess& access, const RacePlace& at, const RaceOrder& order);

  // A plain read of a cell that others update with atomics is no race where the same thread goes on to update
  // it with one, as in `seen = *cell; do ... while (atomicCAS(cell, ...) != ...)`. Those that are open until
  // then, of the thread that runs.
  struct PendingRead {
    RaceAccess access;
    RaceFound found;
  };
  std::vector<PendingRead> pendingReads;
  // A plain write of what another thread has written is no race where it is the same value, which is known
  // once it is done: those of the thread that runs whose outcome is open.
  struct PendingWrite {
    RaceAccess access;
    RaceFound found;
    std::array<unsigned char, 16> before;

    bool changedValue() const;
  };
  std::vector<PendingWrite> pendingWrites;
  void fence() {
    fenced = true;
    acquired.insert(acquired.end(), met.begin(), met.end()); // as a lock is taken: an atomic, then a fence
    met.clear();
  }

private:
  struct Cell {
    // Of each kind the last, and the last of whoever is furthest from it: another block, else another wave,
    // else another thread.
    RaceSlot writers[2], readers[2];
  };
  struct Region {
    uint64_t begin = 0, end = 0;
    uint64_t buffer = 0; // the number of its allocation
    bool lds = false;
    unsigned shift = 2; // a cell is 1 << shift bytes
    Cell* cells = nullptr;
    Cell alike = {}; // what each cell knows, before an access to a part of the region lays them out
    size_t mapped = 0;
    char name[64] = {};
  };
  struct Page {
    uint64_t number = ~0ull;
    Region* region = nullptr; // null: nothing of ours
  };

  Region* regionAt(uint64_t address);
  Region* lookUp(uint64_t address);
  bool layOut(Region& region, unsigned shift);
  void drop(Region& region);
  void release();
  bool isOfThisLaunch(const RaceSlot& slot) const { return slot.stretch >= firstStretch; }
  // The earlier work that the slot is of, where nothing orders it before the running one; null else.
  struct Earlier {
    uint32_t firstStretch;
    uint64_t stream, sequence;
    char work[96];
  };
  const Earlier* unordered(const RaceSlot& slot) const;
  void remember(RaceSlot (&slots)[2], const RaceSlot& now, bool lds, unsigned laneShift) const;
  bool races(const RaceSlot& before, bool lds, const RaceAccess& access, const RacePlace& at,
             const RaceOrder& order) const;
  bool orderedByFence(uint32_t block) const;
  void synchronise(uint64_t address, uint32_t block);
  bool isVariable(uint64_t address);

  std::vector<std::unique_ptr<Region>> regions;
  std::array<Page, 1024> pages;
  // What a fence and an atomic operation after it publish: blocks by the atomic's address, and the addresses
  // that the running block has met in turn.
  std::unordered_map<uint64_t, std::unordered_set<uint32_t>> released;
  std::vector<uint64_t> acquired, met; // after a fence, and without one yet
  std::unordered_map<uint64_t, bool> variables;
  bool fenced = false;
  std::deque<Earlier> earlier; // by firstStretch; those that are gone count as ordered
  Clock before;                // what is ordered before the running work
  uint32_t firstStretch = 1;   // of the launch, or since its last barrier of the grid
  uint32_t launchStretch = 1;  // of the launch
  uint32_t firstUnordered = 1; // all stretches before it are
  size_t mapped = 0;           // bytes of all cells
};

// The process's only one: work runs one piece at a time.
RaceShadow& raceShadow();

// Whether the kernel's library is instrumented, or any.
bool isInstrumented(const void* kernel);
bool isAnyInstrumented();

// Memory that a copy or a fill reads or writes.
struct TransferRange {
  const void* pointer;
  size_t bytes;
  bool write;
};
// Of a copy or a fill that is about to be done: raises a fault where it races with a kernel.
void watchTransfer(const char* call, const TransferRange* ranges, size_t count);

} // namespace bitgate_host
