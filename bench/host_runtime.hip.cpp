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

// A thread that waits at one barrier goes on as one that waits at another: where a barrier returns to changes
// with each of them.
template <int Sites> __global__ void barriers(int n) {
  for (int i = 0; i < n; i += Sites) {
    __syncthreads();
    if constexpr (Sites > 1)
      __syncthreads();
    if constexpr (Sites > 2)
      __syncthreads();
    if constexpr (Sites > 3)
      __syncthreads();
  }
}

__global__ void copy_one(float* out, const float* in, long n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i];
}

constexpr int tile = 16;

struct Tiles {
  float a[tile][tile], b[tile][tile];
};

// c = a b of n x n, a cell a thread; n is a multiple of the tile.
__global__ void __launch_bounds__(tile* tile) matmul(float* c, const float* a, const float* b, int n) {
  BITGATE_LDS(Tiles, lds);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * tile + y, column = static_cast<int>(blockIdx.x) * tile + x;
  float sum = 0;
  for (int k = 0; k < n; k += tile) {
    lds.a[y][x] = a[row * n + k + x];
    lds.b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < tile; ++i)
      sum += lds.a[y][i] * lds.b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
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

// One more barrier in a block of `threads`, in a loop of 1, 2 or 4 of them: the difference of many and few.
BITGATE_API double bench_barrier_ns(int threads, int sites) {
  const auto kernel = sites == 1 ? barriers<1> : sites == 2 ? barriers<2> : barriers<4>;
  const auto run = [&](int n) {
    return bestNanoseconds(20, [&] {
      hipLaunchKernelGGL(kernel, 1, threads, 0, nullptr, n);
      (void)hipDeviceSynchronize();
    });
  };
  return (run(1200) - run(200)) / 1000;
}

BITGATE_API double bench_one_barrier_kernel_ns(int threads) {
  return bestNanoseconds(1000, [&] {
    hipLaunchKernelGGL(barriers<1>, 1, threads, 0, nullptr, 1);
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

// One element a thread, blocks of 256.
BITGATE_API double bench_copy_one_ns(float* x, long n) {
  return bestNanoseconds(5, [&] {
    hipLaunchKernelGGL(copy_one, static_cast<unsigned>(n / 2 / 256), 256, 0, nullptr, x, x + n / 2, n / 2);
    (void)hipDeviceSynchronize();
  });
}
BITGATE_API double bench_memcpy_ns(float* x, long n) {
  return bestNanoseconds(5, [&] {
    std::memcpy(x, x + n / 2, static_cast<size_t>(n / 2) * sizeof(float));
    __asm__ volatile("" ::"r"(x) : "memory");
  });
}

// c = a b with tiles in LDS, and the plain loops; `x` holds c, a and b of n x n.
BITGATE_API double bench_matmul_ns(float* x, int n) {
  return bestNanoseconds(1, [&] {
    hipLaunchKernelGGL(matmul, dim3(n / tile, n / tile), dim3(tile, tile), 0, nullptr, x, x + n * n,
                       x + 2 * n * n, n);
    (void)hipDeviceSynchronize();
  });
}
BITGATE_API double bench_matmul_loop_ns(float* x, int n) {
  const float *a = x + n * n, *b = x + 2 * n * n;
  return bestNanoseconds(1, [&] {
    std::memset(x, 0, sizeof(float) * static_cast<size_t>(n) * static_cast<size_t>(n));
    for (int row = 0; row < n; ++row)
      for (int k = 0; k < n; ++k)
        for (int column = 0; column < n; ++column)
          x[row * n + column] += a[row * n + k] * b[k * n + column];
  });
}
}
