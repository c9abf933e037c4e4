#include "fiber.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// rbx, rbp and r12 to r15 are what the x86-64 System V ABI lets a callee keep. A fresh stack holds six such
// slots with the entry function in r12 and its argument in rbx; what the others hold is nobody's.
//
// Barriers and wave operations save the registers as a kernel calls them, and ask the scheduler where to go
// on. A fiber comes back elsewhere than where the last one left: a `ret` would be predicted to go where the
// last call came from. The jump is predicted by where such jumps went before.
#define BITGATE_SAVE_REGISTERS                                                                               \
  "pushq %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n"                                         \
  "pushq %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbx, 0\n"                                         \
  "pushq %r12\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r12, 0\n"                                         \
  "pushq %r13\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r13, 0\n"                                         \
  "pushq %r14\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r14, 0\n"                                         \
  "pushq %r15\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r15, 0\n"
#define BITGATE_RESUME                                                                                       \
  "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"                                  \
  "popq %rcx\n" /* neither a result nor kept by a callee */                                                  \
  "jmp *%rcx\n"
// With the thread whose record `place` holds.
#define BITGATE_GO_ON(place) "movq 40(" place "), %rsp\n movq 48(" place "), %rax\n" BITGATE_RESUME
#define BITGATE_FUNCTION(name)                                                                               \
  ".text\n .p2align 4\n .globl " #name "\n .type " #name ", @function\n" #name ":\n"
// `place` is the register of the argument that the scheduler's function takes the stack in.
#define BITGATE_MEETING(name, scheduler, place)                                                              \
  __asm__(BITGATE_FUNCTION(name) ".cfi_startproc\n" BITGATE_SAVE_REGISTERS "movq %rsp, " place "\n"          \
                                 "subq $8, %rsp\n" /* aligned to 16 at a call */                             \
                                 ".cfi_adjust_cfa_offset 8\n"                                                \
                                 "call " #scheduler "\n" BITGATE_GO_ON("%rax") ".cfi_endproc\n"              \
                                                                               ".size " #name ", .-" #name   \
                                                                               "\n")

BITGATE_MEETING(__bitgate_syncthreads, bitgate_barrier, "%rdi");
BITGATE_MEETING(__bitgate_syncthreads_for_work, bitgate_barrier_for_work, "%rdx");
BITGATE_MEETING(__bitgate_wave_exchange, bitgate_wave_exchange, "%rdx");

__asm__(BITGATE_FUNCTION(bitgate_fiber_switch) R"(
    .hidden bitgate_fiber_switch
    .cfi_startproc
)" BITGATE_SAVE_REGISTERS R"(
    .cfi_endproc
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    .globl bitgate_fiber_resume
    .hidden bitgate_fiber_resume
bitgate_fiber_resume:
)" BITGATE_RESUME R"(
    .size bitgate_fiber_switch, .-bitgate_fiber_switch
)" BITGATE_FUNCTION(bitgate_fiber_leave) R"(
    .hidden bitgate_fiber_leave
)" BITGATE_GO_ON("%rdi") R"(
    .size bitgate_fiber_leave, .-bitgate_fiber_leave

    .p2align 4
    .hidden bitgate_fiber_start
    .globl bitgate_fiber_start
    .type bitgate_fiber_start, @function
bitgate_fiber_start:
    .cfi_startproc
    .cfi_undefined rip
    movq %rbx, %rdi
    call *%r12
    ud2
    .cfi_endproc
    .size bitgate_fiber_start, .-bitgate_fiber_start
)");

namespace bitgate_host {
static_assert(offsetof(ThreadRecord, stack) == 40 && offsetof(ThreadRecord, slots) == 48); // BITGATE_GO_ON

namespace {

std::mutex guard;
std::vector<Stack*> freeSlabs; // under guard

Stack* mapSlab() {
  constexpr size_t slot = stackGuard + stackBytes;
  void* base = mmap(nullptr, slot * slabStacks, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED)
    return nullptr;
  auto* stacks = new Stack[slabStacks];
  for (unsigned i = 0; i < slabStacks; ++i) {
    char* const low = static_cast<char*>(base) + i * slot;
    mprotect(low, stackGuard, PROT_NONE);
    // Tops at the same page offset would all fall into the same few sets of the L1 cache.
    stacks[i] = {low + stackGuard, low + slot - (i % 64) * 64};
  }
  return stacks;
}

} // namespace

bool StackSet::grow() {
  Stack* slab = nullptr;
  {
    std::lock_guard lock(guard);
    if (!freeSlabs.empty()) {
      slab = freeSlabs.back();
      freeSlabs.pop_back();
    }
  }
  if (!slab)
    slab = mapSlab();
  if (!slab)
    return false;
  slabs.push_back(slab);
  return true;
}

void StackSet::returnAll() {
  if (slabs.empty())
    return;
  std::lock_guard lock(guard);
  freeSlabs.insert(freeSlabs.end(), slabs.begin(), slabs.end());
  slabs.clear();
  reset();
}

bool StackSet::inGuard(uint64_t address) const {
  for (Stack* slab : slabs) {
    const auto from = reinterpret_cast<uint64_t>(slab[0].bottom) - stackGuard;
    constexpr size_t slot = stackGuard + stackBytes;
    if (address >= from && address < from + slot * slabStacks)
      return (address - from) % slot < stackGuard;
  }
  return false;
}

const Stack* StackSet::holding(const void* address) const {
  constexpr size_t slot = stackGuard + stackBytes;
  for (Stack* slab : slabs) {
    const char* const from = slab[0].bottom - stackGuard;
    const auto offset = static_cast<size_t>(static_cast<const char*>(address) - from);
    if (offset < slot * slabStacks)
      return &slab[offset / slot];
  }
  return nullptr;
}

#if defined(__SANITIZE_ADDRESS__)
namespace {

thread_local Stack own{}; // of the OS thread, known once it has left it

} // namespace

void announceStack(const Stack* stack) {
  const Stack& next = stack ? *stack : own;
  const void* bottom = nullptr;
  size_t bytes = 0;
  // Both at once, as no fake stacks have to be kept (detect_stack_use_after_return=0).
  __sanitizer_start_switch_fiber(nullptr, next.bottom, static_cast<size_t>(next.top - next.bottom));
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  if (!own.bottom) {
    own.bottom = const_cast<char*>(static_cast<const char*>(bottom));
    own.top = own.bottom + bytes;
  }
}

void forgetFrames(const Stack& stack) {
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, static_cast<size_t>(stack.top - stack.bottom));
}
#endif

unsigned workersForStacks(unsigned blockThreads) {
  static const unsigned stacks = [] {
    unsigned long mappings = 65530;
    if (FILE* file = std::fopen("/proc/sys/vm/max_map_count", "r")) {
      if (std::fscanf(file, "%lu", &mappings) != 1)
        mappings = 65530;
      std::fclose(file);
    }
    return static_cast<unsigned>(std::min(mappings / 4, 1ul << 20)); // half of the mappings, two a stack
  }();
  const unsigned wanted = (blockThreads + slabStacks - 1) / slabStacks * slabStacks;
  return std::max(1u, stacks / wanted);
}

} // namespace bitgate_host
