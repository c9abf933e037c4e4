// Counting, constant, transform, permutation and zip iterators; placeholders; tuples.
#include "check.h"
#include <thrust/device_vector.h>
#include <thrust/for_each.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct AddTo {
  template <class Tuple> __device__ void operator()(Tuple t) const {
    thrust::get<1>(t) += thrust::get<0>(t) * 2;
  }
};

int main() {
  thrust::counting_iterator<int> first(0);
  const int squares = thrust::transform_reduce(first, first + 10, Square(), 0, thrust::plus<int>());
  auto through = thrust::make_transform_iterator(first, Square());
  const int same = thrust::reduce(through, through + 10);
  thrust::device_vector<int> x(first, first + 20), y(20, 1), map(5);
  auto zip = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
  thrust::for_each(zip, zip + 20, AddTo());
  using namespace thrust::placeholders;
  thrust::transform(first, first + 5, map.begin(), _1 * 3 + 1);
  auto picked = thrust::make_permutation_iterator(y.begin(), map.begin());
  const int some = thrust::reduce(picked, picked + 5);
  thrust::transform(x.begin(), x.end(), thrust::make_constant_iterator(5), x.begin(), thrust::minus<int>());
  return verdict(squares == 285 && same == 285 && y[19] == 39 && some == 5 + 2 * (1 + 4 + 7 + 10 + 13) &&
                 x[0] == -5);
}
