// A scan of many blocks by waves: shuffles upwards, sums of waves in LDS, sums of blocks in a second launch.
#include "check.h"

template <class T> __device__ T wave_scan(T v) {
  const int lane = threadIdx.x % warpSize;
  for (int by = 1; by < warpSize; by *= 2) {
    const T other = __shfl_up(v, by);
    if (lane >= by)
      v += other;
  }
  return v;
}
template <class T, int Block = 128> __global__ void scan(const T* in, T* out, T* sums, int n) {
  __shared__ T of_waves[32];
  const int i = blockIdx.x * Block + threadIdx.x, wave = threadIdx.x / warpSize,
            lane = threadIdx.x % warpSize;
  T v = wave_scan(i < n ? in[i] : T(0));
  if (lane == warpSize - 1)
    of_waves[wave] = v;
  __syncthreads();
  for (int other = 0; other < wave; ++other)
    v += of_waves[other];
  if (i < n)
    out[i] = v;
  if (threadIdx.x == Block - 1)
    sums[blockIdx.x] = v;
}
template <class T> __global__ void add_sums(T* x, const T* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned block = 0; block < blockIdx.x && i < n; ++block)
    x[i] += sums[block];
}

int main() {
  const int n = 500;
  std::vector<long> h(n);
  for (int i = 0; i < n; ++i)
    h[i] = i % 13 - 3;
  long *in = to_device(h), *out = to_device(h), *sums = to_device(std::vector<long>(4, 0));
  scan<<<4, 128>>>(in, out, sums, n);
  add_sums<<<4, 128>>>(out, sums, n);
  for (int i = 1; i < n; ++i)
    h[i] += h[i - 1];
  return verdict(to_host(out, n) == h);
}
