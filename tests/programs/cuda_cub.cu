// CUB as benchmarks use it: its allocator, errors that end the program, sorted tiles, loads by their cache.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>
#include <cub/cub.cuh>
#include <cub/util_allocator.cuh>

#include <algorithm>

#include "check.h"

cub::CachingDeviceAllocator allocator(true);

template <int Threads, int Items>
__launch_bounds__(Threads) __global__ void sorted(const int* from, int* to) {
  using Load = cub::BlockLoad<int, Threads, Items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, Threads, Items>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } memory;
  int items[Items];
  const int tile = blockIdx.x * Threads * Items;
  Load(memory.load).Load(from + tile, items);
  __syncthreads();
  Sort(memory.sort).SortBlockedToStriped(items);
  cub::StoreDirectStriped<Threads>(threadIdx.x, to + tile, items);
}

template <int Threads, int Items> __global__ void reversed(const int* from, int* to) {
  int items[Items], striped[Items];
  cub::LoadDirectBlocked(threadIdx.x, from, items);
  cub::LoadDirectStriped<Threads>(threadIdx.x, from, striped);
  using Sort = cub::BlockRadixSort<int, Threads, Items>;
  __shared__ typename Sort::TempStorage memory;
  Sort(memory).SortDescendingBlockedToStriped(striped);
  cub::StoreDirectStriped<Threads>(threadIdx.x, to, striped);
  cub::StoreDirectBlocked(threadIdx.x, to + Threads * Items, items);
  cub::ThreadStore<cub::STORE_CG>(to + 2 * Threads * Items, cub::ThreadLoad<cub::LOAD_CG>(from));
}

int main() {
  const int threads = 64, items = 4, tile = threads * items, count = 2 * tile + 1;
  std::vector<int> from(count);
  for (int at = 0; at < count; ++at)
    from[at] = at * 7919 % 1000;
  int *in, *out;
  CubDebugExit(allocator.DeviceAllocate(reinterpret_cast<void**>(&in), count * sizeof(int)));
  CubDebugExit(allocator.DeviceAllocate(reinterpret_cast<void**>(&out), count * sizeof(int)));
  CubDebugExit(cudaMemcpy(in, from.data(), count * sizeof(int), cudaMemcpyHostToDevice));
  sorted<threads, items><<<2, threads>>>(in, out);
  std::vector<int> expected = from, down(from.begin(), from.begin() + tile);
  std::sort(expected.begin(), expected.begin() + tile);
  std::sort(expected.begin() + tile, expected.begin() + 2 * tile);
  std::vector<int> result = to_host(out, 2 * tile);
  bool isRight = std::equal(result.begin(), result.end(), expected.begin());
  reversed<threads, items><<<1, threads>>>(in, out);
  std::sort(down.rbegin(), down.rend());
  down.insert(down.end(), from.begin(), from.begin() + tile);
  down.push_back(from[0]);
  isRight &= to_host(out, count) == down;
  CubDebugExit(allocator.DeviceFree(in));
  CubDebugExit(allocator.DeviceFree(out));
  return verdict(isRight);
}
