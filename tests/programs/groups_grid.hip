// A barrier of the grid: all blocks are resident, and wait for each other.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void smooth(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = grid.thread_rank(); i < n; i += grid.size())
      b[i] = (a[(i + n - 1) % n] + a[i] + a[(i + 1) % n]) / 4 + 1;
    grid.sync();
    float* kept = a;
    a = b, b = kept;
  }
}

int main() {
  int n = 500, steps = 6, resident = 0;
  std::vector<float> h(n), other(n);
  for (int i = 0; i < n; ++i)
    h[i] = i % 17;
  float *a = to_device(h), *b = to_device(other);
  HIP_CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, smooth, 64, 0));
  void* arguments[] = {&a, &b, &n, &steps};
  HIP_CHECK(hipLaunchCooperativeKernel((void*)smooth, dim3(5), dim3(64), arguments, 0, nullptr));
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i)
      other[i] = (h[(i + n - 1) % n] + h[i] + h[(i + 1) % n]) / 4 + 1;
    h.swap(other);
  }
  return verdict(resident > 0 && to_host(a, n) == h);
}
