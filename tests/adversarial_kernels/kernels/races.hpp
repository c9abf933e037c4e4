// Kernels that are right by the order in which threads happen to run.
#pragma once

#include "bitgate/lds.hpp"
#include "call.hpp"

namespace adversarial {

inline constexpr int racing_threads = 256;

struct OneCell {
  float sum;
};

// The first thread computes a cell, another one stores it; between them a barrier is missing.
__global__ void __launch_bounds__(block_size)
    hand_over(const float* x, const float* w, float* y, ConvShape shape, bool with_barrier) {
  BITGATE_LDS(OneCell, lds);
  const Place place = place_of(shape, blockIdx.x);
  if (threadIdx.x == 0)
    lds.sum = sum_of(x, w, place, shape);
  if (with_barrier)
    __syncthreads();
  if (threadIdx.x == block_size - 1)
    y[place.y] = lds.sum;
}

struct WaveSums {
  float of[racing_threads / 32];
};

// A block sums a cell: each wave by shuffles, then the waves' sums through LDS.
__global__ void __launch_bounds__(racing_threads)
    reduce(const float* x, const float* w, float* y, ConvShape shape, bool with_barrier) {
  BITGATE_LDS(WaveSums, lds);
  const Place place = place_of(shape, blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x) % warpSize, wave = static_cast<int>(threadIdx.x) / warpSize;
  // The last threads have the channels, so that every wave's sum counts.
  float sum = 0;
  for (int64_t c = threadIdx.x; c < shape.c * 32; c += racing_threads)
    if (c % 32 == 31)
      sum += x[place.x + c / 32 * shape.x.column] * w[place.w + c / 32 * shape.w.column];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_xor(sum, distance);
  if (lane == 0)
    lds.of[wave] = sum;
  if (with_barrier)
    __syncthreads();
  sum = lane < racing_threads / warpSize ? lds.of[lane] : 0;
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_xor(sum, distance);
  if (threadIdx.x == 0)
    y[place.y] = sum;
}

static void race(Call& call, const char* name,
                 void (*kernel)(const float*, const float*, float*, ConvShape, bool), int threads,
                 bool with_barrier, unsigned wave_size = 0) {
  bitgate::Context of_waves{call.context.record, call.context.stream, wave_size};
  bitgate::launch(of_waves, name, kernel, dim3(static_cast<unsigned>(call.cells)),
                  dim3(static_cast<unsigned>(threads)), 0, call.x, call.w, call.y, call.shape, with_barrier);
  call.context.error = of_waves.error;
  record(call);
}

BAD_KERNEL(missing_barrier) {
  race(call, "hand_over", hand_over, block_size, false);
}

BAD_KERNEL(missing_barrier_between_waves) {
  race(call, "reduce", reduce, racing_threads, false);
}

BAD_KERNEL(missing_barrier_between_waves_of_32) { // a GPU has waves of its own size
  race(call, "reduce", reduce, racing_threads, false, 32);
}

BAD_KERNEL(healthy_reduction) {
  race(call, "reduce", reduce, racing_threads, true);
}

BAD_KERNEL(healthy_reduction_of_waves_of_32) {
  race(call, "reduce", reduce, racing_threads, true, 32);
}

#if defined(BITGATE_PLATFORM_HOST)
struct Flag {
  int is_set;
};

// One wave waits in a loop for what another one will write.
__global__ void __launch_bounds__(racing_threads) wait_for_another_wave() {
  BITGATE_LDS(Flag, lds);
  volatile int* flag = &lds.is_set;
  if (threadIdx.x == 0)
    *flag = 0;
  __syncthreads();
  const auto start = std::chrono::steady_clock::now();
  if (threadIdx.x == racing_threads - 1)
    *flag = 1;
  else if (threadIdx.x == 0)
    while (*flag == 0 && !is_over(start)) {
    }
}
#else
__global__ void wait_for_another_wave() {}
#endif

BAD_KERNEL(spins_on_another_wave) {
  healthy(call);
  bitgate::launch(call.context, "wait_for_another_wave", wait_for_another_wave, dim3(1), dim3(racing_threads),
                  0);
}

} // namespace adversarial
