// hipDeviceReset at the end is no defect.
#include "check.h"

__global__ void one(int* x) {
  x[threadIdx.x] = 1;
}

int main() {
  int* x = to_device(std::vector<int>(64, 0));
  one<<<1, 64>>>(x);
  const bool right = to_host(x, 64)[63] == 1;
  HIP_CHECK(hipFree(x));
  HIP_CHECK(hipDeviceReset());
  return verdict(right);
}
