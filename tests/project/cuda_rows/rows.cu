// A whole program in CUDA, as they are found: its kernels are judged, and main is compiled and never called.
#include "device_launch_parameters.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <iostream>
#include <stdio.h>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t error = (call);                                                                              \
    if (error != cudaSuccess) {                                                                              \
      printf("%s\n", cudaGetErrorString(error));                                                             \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)
#define CEIL(a, b) (((a) + (b) - 1) / (b))

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

template <typename T> __device__ float load(const T* from) {
  return static_cast<float>(*from);
}
template <> __device__ float load<__nv_bfloat16>(const __nv_bfloat16* from) {
  return __bfloat162float(*from);
}
__device__ void store(float* to, float value) {
  *to = value;
}
__device__ void store(__nv_bfloat16* to, float value) {
  *to = __float2bfloat16(value);
}

// One block a row; its waves of 32 lanes sum by shuffles, then meet in shared memory.
template <typename T, int BLOCK>
__global__ __launch_bounds__(BLOCK) void row_sums(const T* __restrict__ x, T* __restrict__ y, int length,
                                                  int inner) {
  __shared__ float part[BLOCK / 32];
  const int row = blockIdx.x, o = row / inner, i = row % inner;
  float sum = 0.f;
  for (int l = threadIdx.x; l < length; l += BLOCK)
    sum += load(&x[(o * length + l) * inner + i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < BLOCK / 32 ? part[threadIdx.x] : 0.f);
    if (threadIdx.x == 0)
      store(&y[row], sum);
  }
}

__global__ void copy4(const float* __restrict__ from, float* to, int n) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 < n) {
    const float4 four = *reinterpret_cast<const float4*>(from + i);
    *reinterpret_cast<float4*>(to + i) = make_float4(four.x, four.y, four.z, __ldg(from + i + 3));
  }
}

int main() {
  std::vector<float> values(64);
  float *from, *to;
  cudaEvent_t start;
  CHECK(cudaMalloc(&from, 256));
  CHECK(cudaMalloc((void**)&to, 256));
  CHECK(cudaMemcpy(from, values.data(), 256, cudaMemcpyHostToDevice));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventRecord(start));
  const dim3 grid(CEIL(64, 64));
  row_sums<float, 64><<<grid, 64>>>(from, to, 64, 1);
  copy4<<<1, 16, 0, nullptr>>>(from, to, 64);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::cout << "done\n";
  return 0;
}
