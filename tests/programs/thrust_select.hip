// copy_if, remove_if, partition, counts, searches and scans.
#include "check.h"
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>

struct Even {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

int main() {
  thrust::device_vector<int> x(100), y(100), z(100);
  thrust::sequence(x.begin(), x.end());
  auto end = thrust::copy_if(x.begin(), x.end(), y.begin(), Even());
  bool right = end - y.begin() == 50 && y[49] == 98 && thrust::count_if(x.begin(), x.end(), Even()) == 50;
  right = right && thrust::inner_product(x.begin(), x.begin() + 4, x.begin(), 0) == 14;
  right = right && thrust::find(x.begin(), x.end(), 42) - x.begin() == 42 &&
          thrust::any_of(x.begin(), x.end(), Even());
  right = right && thrust::lower_bound(x.begin(), x.end(), 77) - x.begin() == 77;
  thrust::inclusive_scan(x.begin(), x.end(), z.begin());
  right = right && z[99] == 4950 && thrust::max_element(z.begin(), z.end()) - z.begin() == 99;
  auto odd = thrust::remove_if(x.begin(), x.end(), Even());
  right = right && odd - x.begin() == 50 && x[49] == 99;
  thrust::fill(z.begin(), z.end(), 4);
  thrust::replace(z.begin(), z.begin() + 3, 4, 9);
  right = right && thrust::count(z.begin(), z.end(), 9) == 3;
  auto middle = thrust::partition(y.begin(), y.begin() + 50, [] __device__(int v) { return v > 50; });
  auto both = thrust::set_intersection(x.begin(), x.begin() + 50, x.begin() + 10, x.begin() + 20, z.begin());
  return verdict(right && middle - y.begin() == 24 && both - z.begin() == 10 && z[0] == 21);
}
