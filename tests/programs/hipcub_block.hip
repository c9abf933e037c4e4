// Reductions, scans, loads and sorts of a block.
#include "check.h"
#include <hipcub/hipcub.hpp>

constexpr int threads = 64, items = 2;
__global__ void block_work(const int* in, int* out, int* sums) {
  using Load = hipcub::BlockLoad<int, threads, items, hipcub::BLOCK_LOAD_TRANSPOSE>;
  using Scan = hipcub::BlockScan<int, threads>;
  using Reduce = hipcub::BlockReduce<int, threads>;
  __shared__ union Memory {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Reduce::TempStorage reduce;
  } memory;
  int mine[items], scanned[items];
  const int first = blockIdx.x * threads * items;
  Load(memory.load).Load(in + first, mine);
  __syncthreads();
  Scan(memory.scan).InclusiveSum(mine, scanned);
  __syncthreads();
  const int sum = Reduce(memory.reduce).Sum(mine);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
  hipcub::BlockStore<int, threads, items>().Store(out + first, scanned);
}
__global__ void sorted(int* x) {
  using Sort = hipcub::BlockRadixSort<int, threads, items>;
  __shared__ typename Sort::TempStorage memory;
  int mine[items] = {x[threadIdx.x * items], x[threadIdx.x * items + 1]};
  Sort(memory).Sort(mine);
  x[threadIdx.x * items] = mine[0], x[threadIdx.x * items + 1] = mine[1];
}
__global__ void most(const int* in, int* out) {
  using Reduce = hipcub::BlockReduce<int, 128>;
  __shared__ Reduce::TempStorage memory;
  const int v = Reduce(memory).Reduce(in[threadIdx.x], hipcub::Max());
  if (threadIdx.x == 0)
    *out = v;
}

int main() {
  const int n = 2 * threads * items;
  std::vector<int> h(n);
  for (int i = 0; i < n; ++i)
    h[i] = (i * 31) % n;
  int *in = to_device(h), *out = to_device(h), *sums = to_device(std::vector<int>(2, 0));
  block_work<<<2, threads>>>(in, out, sums);
  int expected[2] = {};
  for (int i = 0; i < n; ++i)
    expected[i / 128] += h[i];
  bool right =
      to_host(sums, 2) == std::vector<int>{expected[0], expected[1]} && to_host(out, n)[255] == expected[1];
  right = right && to_host(out, n)[2] == h[0] + h[1] + h[2];
  most<<<1, 128>>>(in, sums);
  right = right && to_host(sums, 1)[0] == *std::max_element(h.begin(), h.begin() + 128);
  sorted<<<1, threads>>>(in);
  std::sort(h.begin(), h.begin() + 128);
  return verdict(right && to_host(in, n) == h);
}
