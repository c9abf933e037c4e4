// Reductions and scans of a part of a wave.
#include "check.h"
#include <hipcub/hipcub.hpp>

__global__ void warp_work(int* out) {
  using Reduce = hipcub::WarpReduce<int, 16>;
  using Scan = hipcub::WarpScan<int, 32>;
  __shared__ Reduce::TempStorage reduce[4];
  __shared__ Scan::TempStorage scan[2];
  const int lane = threadIdx.x;
  const int sum = Reduce(reduce[lane / 16]).Sum(lane);
  const int most = Reduce(reduce[lane / 16]).Reduce(lane, hipcub::Max());
  int before = 0, with = 0;
  Scan(scan[lane / 32]).ExclusiveSum(1, before);
  Scan(scan[lane / 32]).InclusiveSum(2, with);
  const bool first = lane % 16 == 0;
  out[lane] = (!first || (sum == lane * 16 + 120 && most == lane + 15)) && before == lane % 32 &&
              with == 2 * (lane % 32 + 1);
}

int main() {
  int* out = to_device(std::vector<int>(64, 0));
  warp_work<<<1, 64>>>(out);
  return verdict(to_host(out, 64) == std::vector<int>(64, 1));
}
