// Sorting, reducing and scanning by keys; unique; gather and scatter.
#include "check.h"
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

int main() {
  const int keys[] = {3, 1, 2, 1, 3, 3};
  thrust::device_vector<int> k(keys, keys + 6), v(6), uniqueKeys(6), sums(6), scanned(6);
  thrust::sequence(v.begin(), v.end());
  thrust::sort_by_key(k.begin(), k.end(), v.begin());
  auto ends = thrust::reduce_by_key(k.begin(), k.end(), v.begin(), uniqueKeys.begin(), sums.begin());
  bool right =
      ends.first - uniqueKeys.begin() == 3 && sums[0] == 4 && sums[1] == 2 && sums[2] == 9 && v[1] == 3;
  thrust::inclusive_scan_by_key(k.begin(), k.end(), v.begin(), scanned.begin());
  right = right && scanned[1] == 4 && scanned[2] == 2 && scanned[5] == 9;
  thrust::exclusive_scan(v.begin(), v.end(), scanned.begin(), 10);
  right = right && scanned[0] == 10 && scanned[5] == 20;
  k.erase(thrust::unique(k.begin(), k.end()), k.end());
  right = right && k.size() == 3;
  thrust::device_vector<int> map(3), out(3), back(3);
  thrust::sequence(map.begin(), map.end(), 2, -1);
  thrust::gather(map.begin(), map.end(), k.begin(), out.begin());
  thrust::scatter(k.begin(), k.end(), map.begin(), back.begin());
  thrust::reduce_by_key(k.begin(), k.end(), k.begin(), thrust::make_discard_iterator(), back.begin());
  return verdict(right && out[0] == 3 && out[2] == 1);
}
