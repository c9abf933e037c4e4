// Stackful fibers: a context switch by hand, and stacks between guard zones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

// Saves the callee-saved registers on the running stack, its pointer in *save, and continues where `load` was
// saved.
extern "C" void bitgate_fiber_switch(void** save, void* load);
// Leaves the running stack for good: this thread goes on.
extern "C" [[noreturn]] void bitgate_fiber_leave(const ThreadRecord* thread);
// Its second half: a signal handler returns here.
extern "C" void bitgate_fiber_resume();

// The stack pointer of a thread that begins below `top`: entry(argument) runs when it goes on.
extern "C" void bitgate_fiber_start();
inline void* freshStack(char* top, void (*entry)(void*), void* argument) {
  auto* slots = reinterpret_cast<void**>(top) - 7; // aligned to 16 at the entry's call
  slots[3] = reinterpret_cast<void*>(entry);       // r12
  slots[4] = argument;                             // rbx
  slots[5] = nullptr;                              // rbp: the end of a frame-pointer walk
  slots[6] = reinterpret_cast<void*>(bitgate_fiber_start);
  return slots;
}

struct Stack {
  char* bottom; // lowest usable byte; the guard zone lies below
  char* top;
};

// AddressSanitizer asks on which stack code runs, and remembers frames that were left for good.
#if defined(__SANITIZE_ADDRESS__)
// For functions that leave a stack when the next has been announced.
#define BITGATE_UNSANITIZED __attribute__((no_sanitize_address))
// The thread is about to run on this stack; null: on its own again.
void announceStack(const Stack* stack);
// A stack that no fiber runs on has no frame left.
void forgetFrames(const Stack& stack);
#else
#define BITGATE_UNSANITIZED
inline void announceStack(const Stack*) {}
inline void forgetFrames(const Stack&) {}
#endif

constexpr size_t stackBytes = 192 * 1024;
// Wide, so that a large frame does not step over it. Stacks are an odd number of pages apart: of pages that
// are a power of two apart the TLB keeps few.
constexpr size_t stackGuard = 68 * 1024;
constexpr unsigned slabStacks = 64;

// The stacks of one worker. Taken from a pool shared by all workers in slabs of `slabStacks`.
class StackSet {
public:
  StackSet() = default;
  StackSet(const StackSet&) = delete;
  ~StackSet() { returnAll(); }

  // An unused stack; null when the system gives no more memory.
  Stack* take() {
    if (!given.empty()) {
      Stack* const stack = given.back();
      given.pop_back();
      return stack;
    }
    if (taken == slabs.size() * slabStacks && !grow())
      return nullptr;
    Stack* const stack = &slabs[taken / slabStacks][taken % slabStacks];
    ++taken;
    return stack;
  }
  void give(Stack* stack) { given.push_back(stack); }
  // Every stack is unused again: after a fault, or where threads ended whose stacks nobody gave back.
  void reset() {
    taken = 0;
    given.clear();
  }
  // Hands all slabs back to the pool.
  void returnAll();
  // Whether the address lies in the guard zone below one of these stacks.
  bool inGuard(uint64_t address) const;
  // The stack that holds the address; null for none of these.
  const Stack* holding(const void* address) const;

private:
  bool grow();
  std::vector<Stack*> slabs; // each points to slabStacks stacks
  size_t taken = 0;          // of all slabs' stacks, in order
  std::vector<Stack*> given; // those of them that are unused again
};

// The stack that holds an address is the next that runs.
#if defined(__SANITIZE_ADDRESS__)
inline void announceStackAt(const void* address, const StackSet& stacks) {
  announceStack(stacks.holding(address));
}
#else
inline void announceStackAt(const void*, const StackSet&) {}
#endif

// How many OS threads may run blocks of `blockThreads` fibers at once without running out of memory mappings:
// each stack is two of them, and vm.max_map_count bounds a process.
unsigned workersForStacks(unsigned blockThreads);

} // namespace bitgate_host
