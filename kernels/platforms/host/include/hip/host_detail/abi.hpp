// What a kernel library and the host runtime share: the thread's own variables and the calls made inside a
// kernel.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "hip/hip_runtime_api.h"

struct uint3 {
  unsigned x, y, z;
};

// initial-exec: one load from the thread pointer, no call of __tls_get_addr. The runtime keeps these few
// bytes in the static TLS that the loader reserves.
#define BITGATE_THREAD_VARIABLE(type, name)                                                                  \
  extern BITGATE_API constinit thread_local type name __asm__("__bitgate_" #name)                            \
      __attribute__((tls_model("initial-exec")))

namespace bitgate_host {
// What the lanes of a wave handed in at a wave operation; lanes that did not take part hold all ones.
struct WaveSlots {
  uint64_t value[64];
  uint64_t active;
};

// Copied in one piece, once for each thread.
struct alignas(16) PaddedIndex : uint3 {
  unsigned unused;
};

// One GPU thread's record: its place in the block, the wave operations that it took part in, and whose turn
// comes behind its own. The last one's next is the first.
struct ThreadRecord {
  unsigned linear;
  unsigned lane;
  unsigned waveOps;
  unsigned waveOpHash;
  PaddedIndex index;
  ThreadRecord* next; // in the order of this stretch between barriers
  // While it waits: its registers, and what its wave operation returns.
  void* stack;
  const WaveSlots* slots;
};

// Threads of a block that run one after the other on one stack: those from `first` to `last` in its order.
// Where one waits it becomes the last, and the others run on another stack.
struct Turns {
  ThreadRecord *first, *last;
  ptrdiff_t step; // from a record to the next in the order; 0: not the same everywhere, follow `next`
};

// A sum is ready before the load of `next` would be, and a loop over short threads waits for nothing else.
inline ThreadRecord* behind(ThreadRecord* thread, ptrdiff_t step) {
  if (step) [[likely]]
    return thread + step;
  __asm__ volatile(""); // keeps it a branch
  return thread->next;
}

struct LaunchRequest {
  const char* name;
  const void* function; // the kernel's address, to find its library
  // Calls the kernel with a copy of its arguments, once for each turn, and asks for more.
  void (*invoke)(void* args, Turns* turns);
  const void* arguments;
  size_t argumentBytes;
  dim3 grid, block;
  size_t dynamicLds;
  unsigned waveSize; // 0: the default
};

// A kernel's argument that points to data: its place among the arguments, from 1.
struct PointerArgument {
  unsigned number;
  const volatile void* value;
};

BITGATE_THREAD_VARIABLE(ThreadRecord*, self);
BITGATE_THREAD_VARIABLE(bool, waveOpsCounted); // by any thread of the block: then they are compared
BITGATE_THREAD_VARIABLE(bool, workDone);       // at the barrier that was completed last

namespace thread_variables {
// What a kernel sees as a constant (thread_indices.hpp).
BITGATE_THREAD_VARIABLE(PaddedIndex, threadIdx);
} // namespace thread_variables

// From here on this thread of the block is the one that runs.
inline void enterThread(ThreadRecord* record) {
  self = record;
  thread_variables::threadIdx = record->index;
  // Faults and spins are this thread's: nothing of the kernel moves to before the stores, nor they behind it.
  __asm__ volatile("" ::: "memory");
}
} // namespace bitgate_host

extern "C" {
// The threads of these turns have ended: true with new ones. It does not come back without.
BITGATE_API bool __bitgate_next_turns(bitgate_host::Turns* turns);
BITGATE_API void __bitgate_syncthreads(void);
// A barrier. Where all threads of the block come to it with the same `run`, run(work) is done for the first
// lane of each wave, and all go on as from a second barrier behind it: then `workDone` is true.
BITGATE_API void __bitgate_syncthreads_for_work(void (*run)(const void* work), const void* work);
enum { bitgateBarrierCount = 0, bitgateBarrierAnd = 1, bitgateBarrierOr = 2 };
BITGATE_API int __bitgate_syncthreads_reduce(int kind, int predicate);
// The block's LDS for one struct: guard pages around it, poisoned before each block. `site` tells the structs
// of one kernel apart; all threads of a block get the same address.
BITGATE_API void* __bitgate_lds_at(const void* site, size_t bytes, size_t alignment);
BITGATE_API void* __bitgate_lds(size_t bytes, size_t alignment);
BITGATE_API void* __bitgate_dynamic_lds(void);
// Called by kernels that are watched for races, around an atomic operation of block scope.
BITGATE_API void __bitgate_block_scope(bool on);
// Waits for the wave's lanes. `site` must be the same in every lane that takes part.
BITGATE_API const bitgate_host::WaveSlots* __bitgate_wave_exchange(unsigned site, uint64_t bits);
[[noreturn]] BITGATE_API void __bitgate_assert_failed(const char* expression, const char* file, int line);
// The `count` pointers among the arguments must not lead into the host's memory. The name changes whenever
// Turns or ThreadRecord do: a program that was built for another runtime is then not loaded, instead of
// crashing.
BITGATE_API hipError_t __bitgate_launch_turns(const bitgate_host::LaunchRequest* request,
                                              const bitgate_host::PointerArgument* pointers, unsigned count,
                                              hipStream_t stream);
}
