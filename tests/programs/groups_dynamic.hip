// Tiles whose size is known when the kernel runs, and functions that take any group.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int sum_of(const cg::thread_group& group, int* memory, int value) {
  const int rank = group.thread_rank();
  for (int half = group.size() / 2; half > 0; half /= 2) {
    memory[rank] = value;
    group.sync();
    if (rank < half)
      value += memory[rank + half];
    group.sync();
  }
  return value;
}
__global__ void sums(int* out, int size) {
  __shared__ int memory[64];
  const auto block = cg::this_thread_block();
  const int whole = sum_of(block, memory, 1);
  block.sync();
  const cg::thread_group tile = cg::tiled_partition(block, size);
  const int part = sum_of(tile, memory + block.thread_rank() / size * size, 2);
  if (block.thread_rank() == 0)
    out[0] = whole, out[1] = part, out[2] = tile.size();
}

int main() {
  int* out = to_device(std::vector<int>(3, 0));
  sums<<<1, 64>>>(out, 8);
  return verdict(to_host(out, 3) == std::vector<int>{64, 16, 8});
}
