// Vectors on both sides, transform, reduce, sort.
#include "check.h"
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
__global__ void increment(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += 1;
}

int main() {
  const int n = 1000;
  thrust::host_vector<float> h(n);
  for (int i = 0; i < n; ++i)
    h[i] = (i * 7919) % n;
  thrust::device_vector<float> x = h, y(n, 1.0f);
  increment<<<(n + 255) / 256, 256>>>(thrust::raw_pointer_cast(x.data()), n);
  thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{2});
  const float sum = thrust::reduce(y.begin(), y.end(), 0.0f, thrust::plus<float>());
  thrust::sort(x.begin(), x.end(), thrust::greater<float>());
  thrust::copy(x.begin(), x.end(), h.begin());
  bool right = sum == n * (n - 1) + 3 * n && h[0] == n && h[n - 1] == 1 && x.size() == n;
  x[3] = -5;
  x.push_back(7);
  right = right && *thrust::min_element(x.begin(), x.end()) == -5 && x.back() == 7;
  return verdict(right);
}
