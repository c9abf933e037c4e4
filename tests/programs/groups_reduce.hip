// reduce, scans and partitions of lanes, of values of more than 8 bytes too.
#include "check.h"
#include <hip/hip_cooperative_groups.h>
namespace cg = cooperative_groups;

struct Three {
  double x, y, z;
  __host__ __device__ Three operator+(const Three& o) const { return {x + o.x, y + o.y, z + o.z}; }
};
__global__ void reductions(int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int rank = tile.thread_rank();
  const int sum = cg::reduce(tile, rank, cg::plus<int>());
  const int most = cg::reduce(tile, rank, cg::greater<int>()),
            least = cg::reduce(tile, rank + 3, cg::less<int>());
  const Three three = cg::reduce(tile, Three{1, 2.0 * rank, -1}, cg::plus<Three>());
  const int before = cg::exclusive_scan(tile, 2), with = cg::inclusive_scan(tile, 2, cg::plus<int>());
  auto odd = cg::binary_partition(tile, rank % 2);
  auto fours = cg::labeled_partition(tile, rank / 4);
  const int half = cg::reduce(odd, 1, cg::plus<int>());
  const int four = cg::reduce(fours, rank, cg::plus<int>());
  out[threadIdx.x] = sum == 496 && most == 31 && least == 3 && three.x == 32 && three.y == 992 &&
                     three.z == -32 && before == 2 * rank && with == 2 * rank + 2 && half == 16 &&
                     fours.size() == 4 && four == rank / 4 * 16 + 6;
}

int main() {
  int* out = to_device(std::vector<int>(64, 0));
  reductions<<<1, 64>>>(out);
  return verdict(to_host(out, 64) == std::vector<int>(64, 1));
}
