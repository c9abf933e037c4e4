// Kernels that do what a kernel must not do.
// Some compilers define NDEBUG when they optimise; the assertion below must be there.
#undef NDEBUG
#include <hip/hip_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

// One thread, (3,1,0) of block (1,0,2), reads or writes `x[index]`.
__global__ void touch(float* x, long index, int write) {
  const bool mine = threadIdx.x == 3 && threadIdx.y == 1 && blockIdx.x == 1 && blockIdx.z == 2;
  if (mine && write)
    x[index] = 1.0f;
  else if (mine)
    x[0] = x[index];
}
EXPORT void launch_touch(float* x, long index, int write) {
  hipLaunchKernelGGL(touch, dim3(2, 1, 3), dim3(4, 2), 0, nullptr, x, index, write);
}

struct Tile {
  float values[32];
};
__global__ void touch_lds(float* out, int index, int write) {
  BITGATE_LDS(Tile, tile);
  float* const values = tile.values;
  if (threadIdx.x == 5 && write)
    values[index] = 1.0f;
  else if (threadIdx.x == 5)
    out[0] = values[index];
}
EXPORT void launch_touch_lds(float* out, int index, int write) {
  hipLaunchKernelGGL(touch_lds, 1, 32, 0, nullptr, out, index, write);
}

__global__ void touch_dynamic(float* out, int index) {
  HIP_DYNAMIC_SHARED(float, values)
  if (threadIdx.x == 5)
    out[0] = values[index];
}
EXPORT void launch_touch_dynamic(float* out, int index, size_t bytes) {
  hipLaunchKernelGGL(touch_dynamic, 1, 32, bytes, nullptr, out, index);
}

__attribute__((noinline)) int deep(int n, volatile int* sink) {
  volatile int local[64];
  local[n & 63] = n;
  if (n == 1 << 28)
    return 0;
  const int below = deep(n + 1, local);
  return below + *sink + local[n & 63];
}
__global__ void overflow(int* out) {
  if (threadIdx.x == 9)
    out[0] = deep(0, out);
}
EXPORT void launch_overflow(int* out) {
  hipLaunchKernelGGL(overflow, 1, 64, 0, nullptr, out);
}

__global__ void divide(int* out, int by) {
  out[0] = 7 / by;
}
__global__ void trap() {
  if (threadIdx.x == 1)
    __trap();
}
__global__ void asserting([[maybe_unused]] int n) {
  assert(n > 3 && "n is large");
}
__global__ void throwing() {
  if (threadIdx.x == 2)
    throw 1;
}
EXPORT void launch_divide(int* out, int by) {
  hipLaunchKernelGGL(divide, 1, 1, 0, nullptr, out, by);
}
EXPORT void launch_trap() {
  hipLaunchKernelGGL(trap, 1, 2, 0, nullptr);
}
EXPORT void launch_asserting(int n) {
  hipLaunchKernelGGL(asserting, 1, 2, 0, nullptr, n);
}
EXPORT void launch_throwing() {
  hipLaunchKernelGGL(throwing, 1, 4, 0, nullptr);
}

// Threads from `from` on leave before the barrier.
__global__ void miss_barrier(unsigned from) {
  if (threadIdx.x + blockDim.x * threadIdx.y >= from)
    return;
  __syncthreads();
}
EXPORT void launch_miss_barrier(unsigned from) {
  hipLaunchKernelGGL(miss_barrier, 1, dim3(16, 4), 0, nullptr, from);
}

// Lane `odd` takes part in one wave operation less, or of another kind, after so many that all agreed on.
__global__ void miss_wave_op(unsigned odd, int kind, int barrier, int agreed) {
  for (int i = 0; i < agreed; ++i) {
    bitgate_host::wave_op(4);
    __syncthreads();
    __syncthreads(); // nothing was counted since
  }
  bitgate_host::wave_op(1);
  if (threadIdx.x != odd)
    bitgate_host::wave_op(2);
  else if (kind)
    bitgate_host::wave_op(3);
  if (barrier)
    __syncthreads();
}
EXPORT void launch_miss_wave_op(unsigned odd, int kind, int barrier, int agreed) {
  hipLaunchKernelGGL(miss_wave_op, 1, 128, 0, nullptr, odd, kind, barrier, agreed);
}

// Between two barriers the first lane of a wave has work for all of it: the second wave's divides by
// `divisor`, or comes to a barrier.
__global__ void fault_in_work(int* out, int divisor, int barrier) {
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  bitgate_host::sync_for_work([out, thread, divisor, barrier] {
    if (thread / warpSize == 1 && barrier)
      __syncthreads();
    out[thread] = 100 / (thread / warpSize == 1 ? divisor : 1);
  });
}
EXPORT void launch_fault_in_work(int* out, int divisor, int barrier) {
  hipLaunchKernelGGL(fault_in_work, 1, 192, 0, nullptr, out, divisor, barrier);
}

__global__ void divergent_shuffle(int* out) {
  if (threadIdx.x < 8)
    out[threadIdx.x] = __shfl(static_cast<int>(threadIdx.x), 1);
  else
    out[threadIdx.x] = __shfl(static_cast<int>(threadIdx.x), 9);
}
EXPORT void launch_divergent_shuffle(int* out) {
  hipLaunchKernelGGL(divergent_shuffle, 1, 64, 0, nullptr, out);
}

struct Large {
  char bytes[48 * 1024];
};
__global__ void large_lds(int* out) {
  BITGATE_LDS(Large, lds);
  lds.bytes[threadIdx.x] = 1;
  out[0] = lds.bytes[0];
}
EXPORT void launch_large_lds(int* out) {
  hipLaunchKernelGGL(large_lds, 1, 1, 0, nullptr, out);
}

// Many blocks; the first that runs faults, the others count themselves.
__global__ void fault_then_count(int* counter, int* nowhere) {
  if (blockIdx.x == 0)
    *nowhere = 1;
  atomicAdd(counter, 1);
}
EXPORT void launch_fault_then_count(int* counter, int blocks) {
  hipLaunchKernelGGL(fault_then_count, blocks, 1, 0, nullptr, counter, nullptr);
}
__global__ void add_one(int* x) {
  atomicAdd(x, 1);
}
EXPORT void launch_add_one(int* x, int blocks, int threads, hipStream_t stream) {
  hipLaunchKernelGGL(add_one, blocks, threads, 0, stream, x);
}
