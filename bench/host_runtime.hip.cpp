// What the host runtime costs, measured from C++ so that no interpreter is in the way. host_runtime.py prints
// it.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "bitgate_host.h"

namespace {

// CPU time of the process, so that other load on the machine counts for little.
double cpuNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The best of nine rounds: what the work costs when nothing else disturbs it.
template <class F> double bestNanoseconds(int repeats, F work) {
  double best = 1e30;
  for (int round = 0; round < 9; ++round) {
    const double start = cpuNanoseconds();
    for (int i = 0; i < repeats; ++i)
      work();
    best = std::min(best, (cpuNanoseconds() - start) / repeats);
  }
  return best;
}

} // namespace

__global__ void empty_kernel(int) {}

__global__ void barriers(int n) {
  for (int i = 0; i < n; ++i)
    __syncthreads();
}

__global__ void scale(float* x, long n, float factor) {
  for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += static_cast<long>(gridDim.x) * blockDim.x)
    x[i] *= factor;
}

__global__ void add_rows(float* out, const float* a, long rows, long columns) {
  const long row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (long c = 0; row < rows && c < columns; ++c)
    sum += a[row * columns + c] * a[row * columns + c];
  if (row < rows)
    out[row] = sum;
}

extern "C" {

BITGATE_API double bench_function_call_ns() {
  void (*volatile function)(int) = empty_kernel;
  return bestNanoseconds(1000000, [&] { function(1); });
}

// Launch of an empty kernel and the wait for it.
BITGATE_API double bench_launch_ns(int blocks, int threads) {
  return bestNanoseconds(2000, [&] {
    hipLaunchKernelGGL(empty_kernel, blocks, threads, 0, nullptr, 1);
    (void)hipDeviceSynchronize();
  });
}

// One more barrier in a block of `threads`: the difference of many and few.
BITGATE_API double bench_barrier_ns(int threads) {
  const auto run = [&](int n) {
    return bestNanoseconds(20, [&] {
      hipLaunchKernelGGL(barriers, 1, threads, 0, nullptr, n);
      (void)hipDeviceSynchronize();
    });
  };
  return (run(1100) - run(100)) / 1000;
}

BITGATE_API double bench_one_barrier_kernel_ns(int threads) {
  return bestNanoseconds(1000, [&] {
    hipLaunchKernelGGL(barriers, 1, threads, 0, nullptr, 1);
    (void)hipDeviceSynchronize();
  });
}

BITGATE_API double bench_hip_malloc_ns(size_t bytes, int repeats) {
  return bestNanoseconds(repeats, [&] {
    void* p;
    (void)hipMalloc(&p, bytes);
    (void)hipFree(p);
  });
}

// The floor: memory from the C library, written once as the poison is.
BITGATE_API double bench_malloc_ns(size_t bytes, int repeats) {
  return bestNanoseconds(repeats, [&] {
    void* p = std::malloc(bytes);
    std::memset(p, 0xFF, bytes);
    __asm__ volatile("" ::"r"(p) : "memory");
    std::free(p);
  });
}

// A kernel without a barrier against the same loop as a plain function; one OS thread each.
BITGATE_API double bench_kernel_ns(float* x, long n) {
  return bestNanoseconds(5, [&] {
    hipLaunchKernelGGL(add_rows, static_cast<unsigned>(n / 1024 / 256), 256, 0, nullptr, x, x + n / 1024,
                       n / 1024 - 8, 1024l);
    (void)hipDeviceSynchronize();
  });
}
BITGATE_API double bench_loop_ns(float* x, long n) {
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
}
