// A histogram in LDS by atomics, whose size is the launch's.
#include "check.h"

__global__ void histogram(const unsigned char* in, int n, int bins, unsigned* out) {
  extern __shared__ unsigned counts[];
  for (int i = threadIdx.x; i < bins; i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i] * bins / 256], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x)
    atomicAdd(out + i, counts[i]);
}

int main() {
  const int n = 10000, bins = 64;
  std::vector<unsigned char> h(n);
  std::vector<unsigned> expected(bins);
  for (int i = 0; i < n; ++i)
    h[i] = (i * i + 3 * i) % 251, ++expected[h[i] * bins / 256];
  auto* in = to_device(h);
  auto* out = to_device(std::vector<unsigned>(bins, 0));
  histogram<<<6, 128, bins * sizeof(unsigned)>>>(in, n, bins, out);
  return verdict(to_host(out, bins) == expected);
}
