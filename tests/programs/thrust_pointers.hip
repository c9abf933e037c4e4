// device_ptr over hipMalloc'ed memory, policies with streams, and algorithms inside a kernel.
#include "check.h"
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

__global__ void sort_rows(int* x, int columns) {
  int* row = x + threadIdx.x * columns;
  thrust::sort(thrust::seq, row, row + columns);
}

int main() {
  int* raw = to_device(std::vector<int>{5, 3, 9, 1, 8, 2, 7, 4});
  sort_rows<<<1, 2>>>(raw, 4);
  bool right = to_host(raw, 8) == std::vector<int>{1, 3, 5, 9, 2, 4, 7, 8};
  thrust::device_ptr<int> x = thrust::device_pointer_cast(raw);
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  thrust::sort(thrust::hip::par.on(stream), x, x + 8);
  right = right && *x == 1 && x[7] == 9 && thrust::reduce(thrust::device, raw, raw + 8) == 39;
  thrust::fill(thrust::device, x, x + 4, -1);
  HIP_CHECK(hipStreamDestroy(stream));
  return verdict(right && to_host(raw, 8)[3] == -1);
}
