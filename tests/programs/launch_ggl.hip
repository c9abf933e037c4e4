// hipLaunchKernelGGL of templates in each spelling, of overloads, and of a stream by 0.
#include "check.h"

template <class T> __global__ void add(T* x, T v) {
  x[threadIdx.x] += v;
}
template <class T, int N> __global__ void times(T* x) {
  x[threadIdx.x] *= N;
}
__global__ void over(int* x) {
  x[threadIdx.x] += 1;
}
__global__ void over(float* x) {
  x[threadIdx.x] += 2;
}

int main() {
  float* x = to_device(std::vector<float>(64, 1));
  int* y = to_device(std::vector<int>(64, 1));
  hipLaunchKernelGGL(add, dim3(1), dim3(64), 0, 0, x, 2.0f);
  hipLaunchKernelGGL(add<float>, 1, 64, 0, 0, x, 2);
  hipLaunchKernelGGL((times<float, 3>), dim3(1), dim3(64), 0, 0, x);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(times<int, 7>), dim3(1), dim3(64), 0, nullptr, y);
  hipLaunchKernelGGL(over, dim3(1), dim3(64), 0, 0, x);
  hipLaunchKernelGGL(over, dim3(1), dim3(64), 0, 0, y);
  HIP_CHECK(hipGetLastError());
  return verdict(to_host(x, 64)[9] == 17 && to_host(y, 64)[9] == 8);
}
