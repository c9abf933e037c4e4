// Stackful fibers: a context switch by hand, and stacks between guard zones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitgate_host {

// A stack pointer below which the callee-saved registers and an address lie, and what the call there returns.
struct Resumption {
  void* stack;
  const void* result;
};

// Saves the callee-saved registers on the running stack, its pointer in *save, and continues where `load` was
// saved.
extern "C" void bitgate_fiber_switch(void** save, void* load);
// Leaves the running stack for good.
extern "C" [[noreturn]] void bitgate_fiber_leave(void* stack, const void* result);
// Its second half: a signal handler returns here.
extern "C" void bitgate_fiber_resume();

struct Stack {
  char* bottom; // lowest usable byte; the guard zone lies below
  char* top;
  void* sp; // where its entry function starts
};

constexpr size_t stackBytes = 192 * 1024;
constexpr size_t stackGuard = 64 * 1024; // wide, so that a large frame does not step over it

// The stacks of one worker. Taken from a pool shared by all workers in slabs of `slabStacks`.
class StackSet {
public:
  StackSet() = default;
  StackSet(const StackSet&) = delete;
  ~StackSet() { returnAll(); }

  // An unused stack, ready to run `entry(argument)` when switched to; null when the system gives no more
  // memory.
  Stack* take(void (*entry)(void*), void* argument);
  void give(Stack* stack) { unused.push_back(stack); }
  // After a fault: every stack is unused again.
  void reset();
  // Hands all slabs back to the pool.
  void returnAll();
  // Whether the address lies in the guard zone below one of these stacks.
  bool inGuard(uint64_t address) const;

private:
  bool grow();
  std::vector<Stack*> slabs; // each points to slabStacks stacks
  std::vector<Stack*> unused;
};

constexpr unsigned slabStacks = 64;

// How many OS threads may run blocks of `blockThreads` fibers at once without running out of memory mappings:
// each stack is two of them, and vm.max_map_count bounds a process.
unsigned workersForStacks(unsigned blockThreads);

} // namespace bitgate_host
