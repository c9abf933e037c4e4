// What the work of host_runtime.hip.cpp costs at least: calls, loops, and switches of stacks without a
// runtime.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host_runtime_clock.hpp"

BENCH_API void bench_nothing(int) {}

BENCH_API double floor_function_call_ns() {
  void (*volatile function)(int) = bench_nothing;
  return bestNanoseconds(1000000, [&] { function(1); });
}

// Saves the registers that a callee keeps, leaves the stack pointer in *rdi, and goes on at *rsi.
__asm__(".text\n.p2align 4\n.type bench_switch, @function\nbench_switch:\n"
        "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq (%rsi), %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
        "popq %rcx\n jmp *%rcx\n.size bench_switch, .-bench_switch\n");
extern "C" void bench_switch(void** from, void** to);

namespace {

constexpr int stacks = 256;
void* saved[stacks + 1]; // the last is the caller's
int running;

// A thread that does nothing but let the next one run.
[[noreturn]] void ring() {
  for (;;) {
    const int here = running;
    running = here + 1;
    bench_switch(&saved[here], &saved[running]);
  }
}

} // namespace

// A switch from one stack to the next of 256, as bare as it can be: nothing is asked, nothing is kept.
BENCH_API double floor_switch_ns() {
  constexpr size_t slots = 8192,
                   apart = 8; // of 8 bytes; tops do not all fall into the same sets of the cache
  std::vector<void*> memory(slots * stacks);
  for (int i = 0; i < stacks; ++i) {
    void** const top = &memory[slots * static_cast<size_t>(i + 1) - static_cast<size_t>(i % 64) * apart - 2];
    top[0] = reinterpret_cast<void*>(ring);
    saved[i] = top - 6;
  }
  return bestNanoseconds(2000,
                         [] {
                           running = 0;
                           bench_switch(&saved[stacks], &saved[0]);
                         }) /
         (stacks + 1);
}

// Memory from the C library, written once as the poison is.
BENCH_API double floor_malloc_ns(size_t bytes, int touches, int repeats) {
  return bestNanoseconds(repeats, [&] {
    void* p = std::malloc(bytes);
    for (int i = 0; i <= touches; ++i) {
      std::memset(p, i ? 0 : 0xFF, bytes);
      __asm__ volatile("" ::"r"(p) : "memory");
    }
    std::free(p);
  });
}

BENCH_API double floor_kernel_ns(float* x, long n) {
  const long rows = n / 1024 - 8, columns = 1024;
  const float* a = x + n / 1024;
  return bestNanoseconds(5, [&] {
    for (long row = 0; row < rows; ++row) {
      float sum = 0;
      for (long c = 0; c < columns; ++c)
        sum += a[row * columns + c] * a[row * columns + c];
      x[row] = sum;
    }
  });
}

// Element by element: a loop that is not told to forget would become a memcpy.
BENCH_API double floor_copy_one_ns(float* x, long n) {
  return bestNanoseconds(5, [&] {
    const float* from = x + n / 2;
    for (long i = 0; i < n / 2; ++i) {
      x[i] = from[i];
      __asm__ volatile("" ::: "memory");
    }
  });
}

BENCH_API double floor_matmul_ns(float* x, int n) {
  const float *a = x + n * n, *b = x + 2 * n * n;
  return bestNanoseconds(1, [&] {
    std::memset(x, 0, sizeof(float) * static_cast<size_t>(n) * static_cast<size_t>(n));
    for (int row = 0; row < n; ++row)
      for (int k = 0; k < n; ++k)
        for (int column = 0; column < n; ++column)
          x[row * n + column] += a[row * n + k] * b[k * n + column];
  });
}
