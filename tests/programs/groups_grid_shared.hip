// Blocks that keep LDS over a barrier of the grid: each has its own.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void total(const int* in, int* partial, int* out) {
  __shared__ int kept[32];
  extern __shared__ int dynamic[];
  auto grid = cg::this_grid();
  kept[threadIdx.x] = in[grid.thread_rank()];
  dynamic[threadIdx.x] = blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 32; ++i)
      sum += kept[i];
    partial[blockIdx.x] = sum;
  }
  grid.sync();
  int sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block)
    sum += partial[block];
  out[grid.thread_rank()] = sum + kept[threadIdx.x] + 1000 * (dynamic[threadIdx.x] == (int)blockIdx.x);
}

int main() {
  std::vector<int> h(128);
  for (int i = 0; i < 128; ++i)
    h[i] = i;
  int *in = to_device(h), *partial = to_device(std::vector<int>(4, 0)),
      *out = to_device(std::vector<int>(128, 0));
  void* arguments[] = {&in, &partial, &out};
  HIP_CHECK(hipLaunchCooperativeKernel(total, dim3(4), dim3(32), arguments, 32 * sizeof(int), 0));
  for (int& v : h)
    v += 1000 + 128 * 127 / 2;
  return verdict(to_host(out, 128) == h);
}
