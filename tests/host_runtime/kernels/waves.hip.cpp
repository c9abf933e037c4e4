// Operations across the lanes of a wave, each lane's result written out.
#include <hip/hip_runtime.h>

#include <hip/hip_fp16.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

template <class T> __device__ T value(unsigned t) {
  return static_cast<T>(t * 3 + 1);
}

template <class T> __global__ void shuffles(T* out, int width) {
  const unsigned t = threadIdx.x;
  T* const row = out + t * 4;
  row[0] = __shfl(value<T>(t), 5, width);
  row[1] = __shfl_up(value<T>(t), 2, width);
  row[2] = __shfl_down(value<T>(t), 3, width);
  row[3] = __shfl_xor(value<T>(t), 1, width);
}
template <class T> void launch(T* out, int width, int threads, unsigned wave) {
  (void)bitgate_host::launch("shuffles", shuffles<T>, 1, threads, 0, nullptr, wave, out, width);
}
EXPORT void launch_shuffles_int(int* out, int w, int n, unsigned wave) {
  launch(out, w, n, wave);
}
EXPORT void launch_shuffles_float(float* out, int w, int n, unsigned wave) {
  launch(out, w, n, wave);
}
EXPORT void launch_shuffles_double(double* out, int w, int n, unsigned wave) {
  launch(out, w, n, wave);
}
EXPORT void launch_shuffles_long(long long* out, int w, int n, unsigned wave) {
  launch(out, w, n, wave);
}
EXPORT void launch_shuffles_half(__half* out, int w, int n, unsigned wave) {
  launch(out, w, n, wave);
}

__global__ void votes(unsigned long long* out) {
  const unsigned t = threadIdx.x;
  unsigned long long* const row = out + t * 4;
  row[0] = __ballot(t % 3 == 0);
  row[1] = static_cast<unsigned long long>(__any(t == 40));
  row[2] = static_cast<unsigned long long>(__all(t < 1000));
  row[3] = __activemask();
}
EXPORT void launch_votes(unsigned long long* out, int threads, unsigned wave) {
  (void)bitgate_host::launch("votes", votes, 1, threads, 0, nullptr, wave, out);
}

// A block's sum: shuffles in each wave, LDS between waves, the first wave's lanes alone at the end.
struct Partial {
  float sums[32];
};
__global__ void block_sum(const float* in, float* out) {
  BITGATE_LDS(Partial, lds);
  float sum = in[threadIdx.x];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_down(sum, distance);
  const unsigned wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
  if (__lane_id() == 0)
    lds.sums[wave] = sum;
  __syncthreads();
  if (threadIdx.x >= waves)
    return;
  float total = lds.sums[threadIdx.x];
  for (unsigned distance = waves / 2; distance > 0; distance /= 2)
    total += __shfl_down(total, distance, waves);
  if (threadIdx.x == 0)
    *out = total;
}
EXPORT void launch_block_sum(const float* in, float* out, int threads, unsigned wave) {
  (void)bitgate_host::launch("block_sum", block_sum, 1, threads, 0, nullptr, wave, in, out);
}

// Each thread notes its turn three times: before a shuffle of all lanes, before one of the first `lanes`
// alone (the others wait at the barrier), and after it.
__global__ void note_waves(int* counter, int* order, int lanes) {
  const int thread = static_cast<int>(threadIdx.x);
  order[atomicAdd(counter, 1)] = thread;
  __shfl_xor(thread, 1);
  order[atomicAdd(counter, 1)] = thread;
  if (static_cast<int>(__lane_id()) < lanes) {
    __shfl_xor(thread, 1);
    order[atomicAdd(counter, 1)] = thread;
  }
  __syncthreads();
}
EXPORT void launch_note_waves(int* counter, int* order, int lanes, int threads, unsigned wave) {
  (void)bitgate_host::launch("note_waves", note_waves, 1, threads, 0, nullptr, wave, counter, order, lanes);
}

// Lanes below `from` go to a shuffle, the others straight to the barrier, as in a divergent branch on a GPU.
__global__ void partial_wave(int* out, unsigned lanes) {
  int got = -2;
  if (threadIdx.x < lanes)
    got = __shfl(static_cast<int>(threadIdx.x), threadIdx.x == 0 ? 40 : 1);
  __syncthreads();
  out[threadIdx.x] = got;
}
EXPORT void launch_partial_wave(int* out, unsigned lanes) {
  hipLaunchKernelGGL(partial_wave, 1, 64, 0, nullptr, out, lanes);
}
