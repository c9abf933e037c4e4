// Kernels that come to barriers and wave operations as a plan says, and leave as it says.
#include <hip/hip_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Values {
  unsigned of[1024], sum[32];
};

// 'b': takes the next thread's value across a barrier; 'c': counts odd values at one; 'v': counts them in the
// wave; 'w': the same in every second wave alone. 's': takes what the first lane of the next wave has summed
// between two barriers; 't': the same, every second wave by barriers of its own.
__global__ void follow(unsigned* out, const char* plan, int steps) {
  BITGATE_LDS(Values, lds);
  const unsigned threads = blockDim.x, thread = threadIdx.x, lanes = static_cast<unsigned>(warpSize);
  const unsigned wave = thread / lanes, waves = (threads + lanes - 1) / lanes;
  unsigned value = blockIdx.x * threads + thread;
  for (int step = 0; step < steps; ++step)
    switch (plan[step]) {
    case 'b':
      lds.of[thread] = value;
      __syncthreads();
      value = value * 31 + lds.of[(thread + 1) % threads];
      __syncthreads();
      break;
    case 's':
    case 't': {
      lds.of[thread] = value;
      const auto sum_next = [&lds, wave, waves, lanes, threads] {
        const unsigned next = (wave + 1) % waves;
        lds.sum[wave] = 0;
        for (unsigned other = next * lanes; other < (next + 1) * lanes && other < threads; ++other)
          lds.sum[wave] += lds.of[other];
      };
      const bool alone = plan[step] == 't' && wave % 2 == 1;
      if (alone)
        __syncthreads();
      if (alone || !bitgate_host::sync_for_work(sum_next)) {
        if (thread % lanes == 0)
          sum_next();
        __syncthreads();
      }
      value = value * 31 + lds.sum[wave];
      break;
    }
    case 'c':
      value = value * 31 + static_cast<unsigned>(__syncthreads_count(static_cast<int>(value & 1)));
      break;
    case 'w':
      if (wave % 2 == 0)
        break;
      [[fallthrough]];
    case 'v':
      value = value * 31 + static_cast<unsigned>(__builtin_popcountll(__ballot(static_cast<int>(value & 1))));
    }
  out[blockIdx.x * threads + thread] = value;
}
EXPORT void launch_follow(unsigned* out, const char* plan, int steps, int blocks, int threads) {
  hipLaunchKernelGGL(follow, blocks, threads, 0, nullptr, out, plan, steps);
}

// One thread leaves after so many barriers; the others come to one more.
__global__ void leave_early(unsigned leaver, int barriers) {
  for (int i = 0; i < barriers; ++i)
    __syncthreads();
  if (threadIdx.x != leaver)
    __syncthreads();
}
EXPORT void launch_leave_early(unsigned leaver, int barriers, int threads) {
  hipLaunchKernelGGL(leave_early, 1, threads, 0, nullptr, leaver, barriers);
}

__global__ void write_one(int* out) {
  *out = 1;
}
__global__ void write_two(int* out) {
  *out = 2;
}
void (*chosen)(int*) = write_one;
// The variable names another kernel before the launch runs.
EXPORT void launch_chosen(int* out) {
  hipLaunchKernelGGL(chosen, 1, 1, 0, nullptr, out);
  chosen = write_two;
  (void)hipDeviceSynchronize();
  chosen = write_one;
}
