// Tiles: votes, matches, shuffles in each direction, tiles of tiles.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void votes(int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int rank = tile.thread_rank();
  const auto odd = tile.ballot(rank % 2);
  const int any = tile.any(rank == 3), all = tile.all(rank < 16), none = tile.any(rank > 20);
  const auto same = tile.match_any(rank / 4);
  const int swapped = tile.shfl_xor(rank, 1), first = tile.shfl(rank + 50, 0), up = tile.shfl_up(rank, 1);
  auto small = cg::tiled_partition<4>(tile);
  int sum = rank;
  sum += small.shfl_xor(sum, 1);
  sum += small.shfl_xor(sum, 2);
  out[threadIdx.x] = odd == 0xAAAA && any && all && !none && same == 0xFull << rank / 4 * 4 &&
                     swapped == (rank ^ 1) && first == 50 && up == (rank ? rank - 1 : 0) &&
                     sum == rank / 4 * 16 + 6 && small.size() == 4;
}

int main() {
  int* out = to_device(std::vector<int>(128, 0));
  votes<<<1, 128>>>(out);
  return verdict(to_host(out, 128) == std::vector<int>(128, 1));
}
