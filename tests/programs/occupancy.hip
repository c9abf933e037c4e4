// Occupancy, attributes and settings of a kernel by its name alone.
#include "check.h"

__global__ void work(int* x) {
  x[threadIdx.x] = 1;
}
template <int N> __global__ void work_n(int* x) {
  x[threadIdx.x] = N;
}

int main() {
  int grid = 0, block = 0, resident = 0;
  HIP_CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, work, 0, 0));
  bool right = grid > 0 && block >= 32;
  HIP_CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, work_n<4>));
  HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, work, 256, 0));
  hipFuncAttributes attributes;
  HIP_CHECK(hipFuncGetAttributes(&attributes, work));
  HIP_CHECK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(work)));
  HIP_CHECK(hipFuncSetCacheConfig(work, hipFuncCachePreferL1));
  right = right && resident > 0 && attributes.maxThreadsPerBlock >= block;
  int* x = to_device(std::vector<int>(block, 0));
  work<<<1, block>>>(x);
  return verdict(right && to_host(x, block)[block - 1] == 1);
}
