// What a HIP runtime on CPU threads costs, measured from C++ so that no interpreter is in the way. Plain HIP,
// so that another such runtime can be built of the same text: host_runtime.py prints both.
#include <hip/hip_runtime.h>

#include <cstring>
#include <vector>

#include "host_runtime_clock.hpp"

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

#if defined(BITGATE_LDS)
#define BENCH_LDS(Struct, name) BITGATE_LDS(Struct, name)
#else
#define BENCH_LDS(Struct, name) __shared__ Struct name
#endif

template <int Tile> struct Tiles {
  float a[Tile][Tile], b[Tile][Tile];
};

// c = a b of n x n, a cell a thread; n is a multiple of the tile.
template <int Tile> __global__ void matmul(float* c, const float* a, const float* b, int n) {
  BENCH_LDS(Tiles<Tile>, lds);
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * Tile + y, column = static_cast<int>(blockIdx.x) * Tile + x;
  float sum = 0;
  for (int k = 0; k < n; k += Tile) {
    lds.a[y][x] = a[row * n + k + x];
    lds.b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < Tile; ++i)
      sum += lds.a[y][i] * lds.b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void add_rows(float* out, const float* a, long rows, long columns) {
  const long row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (long c = 0; row < rows && c < columns; ++c)
    sum += a[row * columns + c] * a[row * columns + c];
  if (row < rows)
    out[row] = sum;
}

namespace {

// Of what `x` holds, in order: c, a and b of `cells` each.
struct Matmul {
  float* c;
  const float *a, *b;
};
Matmul matricesIn(float* x, int cells) {
  return {x, x + cells, x + 2 * cells};
}

float* allocate(size_t bytes) {
  void* memory = nullptr;
  (void)hipMalloc(&memory, bytes);
  return static_cast<float*>(memory);
}

void launchMatmul(const Matmul& m, int n, int tile) {
  const dim3 grid(static_cast<unsigned>(n / tile), static_cast<unsigned>(n / tile));
  const dim3 block(static_cast<unsigned>(tile), static_cast<unsigned>(tile));
  if (tile == 16)
    hipLaunchKernelGGL(matmul<16>, grid, block, 0, nullptr, m.c, m.a, m.b, n);
  else
    hipLaunchKernelGGL(matmul<32>, grid, block, 0, nullptr, m.c, m.a, m.b, n);
  (void)hipDeviceSynchronize();
}

// The second half of `x` to the first.
void launchCopyOne(float* x, long n) {
  hipLaunchKernelGGL(copy_one, dim3(static_cast<unsigned>(n / 2 / 256)), dim3(256), 0, nullptr, x,
                     static_cast<const float*>(x + n / 2), n / 2);
  (void)hipDeviceSynchronize();
}

// One thread in 256 of a block sums the squares of one row of 1024.
void launchAddRows(float* x, long n) {
  hipLaunchKernelGGL(add_rows, dim3(static_cast<unsigned>(n / 1024 / 256)), dim3(256), 0, nullptr, x,
                     static_cast<const float*>(x + n / 1024), n / 1024 - 8, 1024l);
  (void)hipDeviceSynchronize();
}

// Small whole numbers: sums of their products are exact in any order.
std::vector<float> wholeNumbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i * 2654435761u % 1000 / 91) - 5;
  return values;
}

// After `launch`, what `x` holds at its begin beside what is expected there.
template <class Launch> long wrongCells(float* x, const std::vector<float>& expected, Launch launch) {
  (void)hipMemset(x, 0xFF, expected.size() * sizeof(float));
  (void)hipDeviceSynchronize();
  launch();
  std::vector<float> found(expected.size());
  (void)hipMemcpy(found.data(), x, found.size() * sizeof(float), hipMemcpyDeviceToHost);
  long wrong = 0;
  for (size_t i = 0; i < found.size(); ++i)
    wrong += !(found[i] == expected[i]);
  return wrong;
}

} // namespace

BENCH_API double bench_by_wall(long on) {
  benchClock = on ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
  return 0;
}

// Memory of the runtime's for the measurements that take any: `n` cells.
BENCH_API float* bench_memory(size_t n) {
  float* const memory = allocate(n * sizeof(float));
  (void)hipMemcpy(memory, wholeNumbers(n).data(), n * sizeof(float), hipMemcpyHostToDevice);
  return memory;
}

// How many cells the kernels that are timed below get wrong.
BENCH_API double bench_wrong_cells(float* x, long cells, int n) {
  const std::vector<float> held = wholeNumbers(static_cast<size_t>(cells));
  const std::vector<float> copied(held.begin() + cells / 2, held.end());
  long wrong = wrongCells(x, copied, [&] { launchCopyOne(x, cells); });

  std::vector<float> sums(static_cast<size_t>(cells / 1024 - 8));
  for (size_t row = 0; row < sums.size(); ++row)
    for (size_t c = 0; c < 1024; ++c) {
      const size_t at = static_cast<size_t>(cells) / 1024 + row * 1024 + c;
      const float value = at < copied.size() ? copied[at] : held[at];
      sums[row] += value * value;
    }
  wrong += wrongCells(x, sums, [&] { launchAddRows(x, cells); });

  const auto size = static_cast<size_t>(n);
  const Matmul matrices = matricesIn(x, n * n);
  const float *a = &copied[size * size], *b = a + size * size;
  std::vector<float> product(size * size);
  for (size_t row = 0; row < size; ++row)
    for (size_t k = 0; k < size; ++k)
      for (size_t column = 0; column < size; ++column)
        product[row * size + column] += a[row * size + k] * b[k * size + column];
  for (const int tile : {16, 32})
    wrong += wrongCells(x, product, [&] { launchMatmul(matrices, n, tile); });
  return static_cast<double>(wrong);
}

// Launch of an empty kernel and the wait for it.
BENCH_API double bench_launch_ns(int blocks, int threads) {
  return bestNanoseconds(2000, [&] {
    hipLaunchKernelGGL(empty_kernel, dim3(blocks), dim3(threads), 0, nullptr, 1);
    (void)hipDeviceSynchronize();
  });
}

// A launch whose threads meet `count` times, in a loop of 1, 2 or 4 barriers.
BENCH_API double bench_barriers_ns(int blocks, int threads, int count, int sites, int repeats) {
  return bestNanoseconds(repeats, [&] {
    if (sites == 1)
      hipLaunchKernelGGL(barriers<1>, dim3(blocks), dim3(threads), 0, nullptr, count);
    else if (sites == 2)
      hipLaunchKernelGGL(barriers<2>, dim3(blocks), dim3(threads), 0, nullptr, count);
    else
      hipLaunchKernelGGL(barriers<4>, dim3(blocks), dim3(threads), 0, nullptr, count);
    (void)hipDeviceSynchronize();
  });
}

// hipMalloc and hipFree, and between them `touches` times all of it written by hipMemset.
BENCH_API double bench_hip_malloc_ns(size_t bytes, int touches, int repeats) {
  return bestNanoseconds(repeats, [&] {
    float* const memory = allocate(bytes);
    for (int i = 0; i < touches; ++i) {
      (void)hipMemset(memory, 0, bytes);
      __asm__ volatile("" ::"r"(memory) : "memory"); // or it is left out where all of this is inlined
    }
    if (touches)
      (void)hipDeviceSynchronize();
    (void)hipFree(memory);
  });
}

BENCH_API double bench_kernel_ns(float* x, long n) {
  return bestNanoseconds(5, [&] { launchAddRows(x, n); });
}
BENCH_API double bench_copy_one_ns(float* x, long n) {
  return bestNanoseconds(5, [&] { launchCopyOne(x, n); });
}

// c = a b with tiles of 16 or 32 in LDS; `x` holds c, a and b of n x n.
BENCH_API double bench_matmul_ns(float* x, int n, int tile) {
  const Matmul matrices = matricesIn(x, n * n);
  return bestNanoseconds(1, [&] { launchMatmul(matrices, n, tile); });
}
