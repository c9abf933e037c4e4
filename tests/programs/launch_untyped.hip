// hipLaunchKernel with the kernel's address cast away.
#include "check.h"

__global__ void axpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}

int main() {
  int n = 300;
  float a = 2;
  float *x = to_device(std::vector<float>(n, 4)), *y = to_device(std::vector<float>(n, 1));
  void* arguments[] = {&a, &x, &y, &n};
  HIP_CHECK(hipLaunchKernel((const void*)axpy, dim3(3), dim3(128), arguments, 0, nullptr));
  HIP_CHECK(hipLaunchKernel(reinterpret_cast<void*>(axpy), dim3(3), dim3(128), arguments, 0, nullptr));
  return verdict(to_host(y, n)[299] == 17);
}
