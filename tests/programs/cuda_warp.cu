// Warps of 32 lanes and their masks, cooperative groups, and bfloat16 by CUDA's names.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

__inline__ __device__ int warp_sum(int v) {
#pragma unroll
  for (int by = 16; by > 0; by >>= 1)
    v += __shfl_down_sync(0xffffffff, v, by);
  return v;
}
__global__ void sums(int* out, float* f) {
  const int sum = warp_sum(threadIdx.x);
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int again = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>());
  const unsigned votes = __ballot_sync(0xffffffff, threadIdx.x & 1);
  if (threadIdx.x % 32 == 0)
    out[threadIdx.x / 32] = sum == again && votes == 0xAAAAAAAAu ? sum : -1;
  __syncwarp();
  if (threadIdx.x == 0)
    f[0] = __bfloat162float(__float2bfloat16(1.5f)) + __half2float(__hadd(__float2half(1), __float2half(2)));
}

int main() {
  int *out, host[2];
  float *f, half;
  cudaMalloc(&out, sizeof host);
  cudaMalloc(&f, 4);
  sums<<<1, 64>>>(out, f);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpy(&half, f, 4, cudaMemcpyDeviceToHost);
  const bool right = host[0] == 496 && host[1] == 1520 && half == 4.5f && cudaGetLastError() == cudaSuccess;
  puts(right ? "PASS" : "FAIL");
  return !right;
}
