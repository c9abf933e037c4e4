// Atomics by scope, on 16 bits, of floats by compare and swap.
#include "check.h"

__device__ float atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int old = *bits;
  while (__int_as_float(old) < value) {
    const int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old)
      break;
    old = seen;
  }
  return __int_as_float(old);
}
__global__ void update(float* most, int* counts, unsigned short* small, double* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomic_max(most, i % 97);
  atomicAdd_system(counts, 1);
  atomicCAS_system(counts + 1, 0, 5);
  atomicAddNoRet(counts + 2, 2);
  unsafeAtomicAdd(sum, 0.5);
  unsigned short old = *small, seen;
  do {
    seen = old;
    old = atomicCAS(small, seen, static_cast<unsigned short>(seen + 1));
  } while (old != seen);
}

int main() {
  float* most = to_device(std::vector<float>(1, 0));
  int* counts = to_device(std::vector<int>(3, 0));
  auto* small = to_device(std::vector<unsigned short>(1, 0));
  double* sum = to_device(std::vector<double>(1, 0));
  update<<<4, 64>>>(most, counts, small, sum);
  return verdict(to_host(most, 1)[0] == 96 && to_host(counts, 3) == std::vector<int>{256, 5, 512} &&
                 to_host(small, 1)[0] == 256 && to_host(sum, 1)[0] == 128);
}
