// cooperative_groups: the block and tiles of it.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

template <int Tile> __global__ void tile_sums(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<Tile>(block);
  int v = in[block.group_index().x * block.size() + block.thread_rank()];
  for (int by = tile.size() / 2; by > 0; by /= 2)
    v += tile.shfl_down(v, by);
  if (tile.thread_rank() == 0)
    out[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = v;
}
__global__ void reversed(const int* in, int* out) {
  __shared__ int buffer[128];
  auto block = cg::this_thread_block();
  const unsigned rank = block.thread_rank();
  buffer[rank] = in[rank];
  cg::sync(block);
  out[rank] = buffer[block.num_threads() - 1 - rank];
}

int main() {
  std::vector<int> h(256);
  for (int i = 0; i < 256; ++i)
    h[i] = i;
  int *in = to_device(h), *out = to_device(std::vector<int>(256, 0));
  tile_sums<32><<<2, 128>>>(in, out);
  bool right = to_host(out, 8)[7] == 32 * (224 + 255) / 2;
  tile_sums<4><<<2, 128>>>(in, out);
  right = right && to_host(out, 64)[63] == 252 + 253 + 254 + 255;
  reversed<<<1, 128>>>(in, out);
  return verdict(right && to_host(out, 128)[0] == 127);
}
