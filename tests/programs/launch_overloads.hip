// Overloaded kernels, kernels of namespaces, static kernels and pointers to kernels.
#include "check.h"

namespace deep::inside {
static __global__ void put(int* x, int v) {
  x[threadIdx.x] = v;
}
} // namespace deep::inside
__global__ void put(int* x) {
  x[threadIdx.x] = -7;
}
__global__ void other(int* x) {
  x[threadIdx.x] += 1;
}

int main() {
  int* x = to_device(std::vector<int>(32, 0));
  deep::inside::put<<<1, 32>>>(x, 4);
  const bool first = to_host(x, 32)[31] == 4;
  put<<<1, 32>>>(x);
  void (*kernel)(int*) = other;
  kernel<<<1, 32>>>(x);
  (other)<<<1, 32, 0, 0>>>(x);
  return verdict(first && to_host(x, 32)[31] == -5);
}
