// Kernels in which a wave waits for what another one would do, and ones that merely take long.
#include <hip/hip_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

// The last thread raises the flag, all others wait for it.
__global__ void wait_for_flag(volatile int* flag, int last) {
  if (static_cast<int>(threadIdx.x) == last)
    *flag = 1;
  while (*flag != 1) {
  }
}
EXPORT void launch_wait_for_flag(int* flag, int last, int threads) {
  hipLaunchKernelGGL(wait_for_flag, 1, threads, 0, nullptr, flag, last);
}

__global__ void wait_with_atomics(int* flag) {
  if (threadIdx.x == 64)
    atomicExch(flag, 1);
  while (atomicAdd(flag, 0) == 0) {
  }
}
EXPORT void launch_wait_with_atomics(int* flag) {
  hipLaunchKernelGGL(wait_with_atomics, 1, 128, 0, nullptr, flag);
}

// The lanes of the first wave meet for ever.
__global__ void wait_with_votes(volatile int* flag) {
  if (threadIdx.x == 64)
    *flag = 1;
  while (!__any(*flag == 1)) {
  }
}
EXPORT void launch_wait_with_votes(int* flag) {
  hipLaunchKernelGGL(wait_with_votes, 1, 128, 0, nullptr, flag);
}

// Each thread computes for `rounds`, and comes to a barrier after each stretch.
__global__ void take_long(double* out, int stretches, int rounds) {
  double x = threadIdx.x;
  for (int i = 0; i < stretches; ++i) {
    for (int j = 0; j < rounds; ++j)
      x = x * 0.999999 + 0.5;
    __syncthreads();
  }
  out[threadIdx.x] = x;
}
EXPORT void launch_take_long(double* out, int stretches, int rounds) {
  hipLaunchKernelGGL(take_long, 1, 64, 0, nullptr, out, stretches, rounds);
}

// The same without a barrier: the threads come one after the other.
__global__ void take_turns(double* out, int rounds) {
  double x = threadIdx.x;
  for (int j = 0; j < rounds; ++j)
    x = x * 0.999999 + 0.5;
  out[threadIdx.x] = x;
}
EXPORT void launch_take_turns(double* out, int rounds) {
  hipLaunchKernelGGL(take_turns, 1, 64, 0, nullptr, out, rounds);
}
