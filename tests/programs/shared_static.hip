// `static __shared__` of a template, as reductions over waves have it; vectors with signs.
#include "check.h"

template <typename T> __device__ T block_sum(T value) {
  static __shared__ T sums[64];
  __shared__ static T whole;
  for (int by = warpSize / 2; by > 0; by /= 2)
    value += __shfl_down(value, by);
  if (threadIdx.x % warpSize == 0)
    sums[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    whole = 0;
    for (int wave = 0; wave < int(blockDim.x / warpSize); ++wave)
      whole += sums[wave];
  }
  __syncthreads();
  return whole;
}

template <typename T> __global__ void sums(T* to) {
  const T sum = block_sum<T>(threadIdx.x + 1);
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void negated(float4* to, const float4* from) {
  to[threadIdx.x] = -from[threadIdx.x] * 2.0f;
}

int main() {
  const int threads = 256, sum = threads * (threads + 1) / 2;
  float* floats = to_device(std::vector<float>(2 * threads, -1));
  int* integers = to_device(std::vector<int>(2 * threads, -1));
  sums<<<2, threads>>>(floats);
  sums<<<2, threads>>>(integers);
  float4* vectors = to_device(std::vector<float4>(4, float4{1, 2, 3, 4}));
  negated<<<1, 4>>>(vectors, vectors);
  return verdict(to_host(floats, 2 * threads) == std::vector<float>(2 * threads, sum) &&
                 to_host(integers, 2 * threads) == std::vector<int>(2 * threads, sum) &&
                 to_host(vectors, 4)[3] == float4{-2, -4, -6, -8});
}
