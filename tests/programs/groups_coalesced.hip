// Threads that are at one place together add for all of them at once.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int aggregated(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0)
    first = atomicAdd(counter, active.size());
  return active.shfl(first, 0) + active.thread_rank();
}
__global__ void keep_positive(const int* in, int* out, int* counter, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0)
    out[aggregated(counter)] = in[i];
}

int main() {
  const int n = 1000;
  std::vector<int> h(n);
  long expected = 0;
  int count = 0;
  for (int i = 0; i < n; ++i) {
    h[i] = i % 3 - 1 ? i : -i;
    expected += h[i] > 0 ? h[i] : 0, count += h[i] > 0;
  }
  int *in = to_device(h), *out = to_device(std::vector<int>(n, 0)),
      *counter = to_device(std::vector<int>(1, 0));
  keep_positive<<<8, 128>>>(in, out, counter, n);
  long sum = 0;
  for (int v : to_host(out, n))
    sum += v;
  return verdict(sum == expected && to_host(counter, 1)[0] == count);
}
