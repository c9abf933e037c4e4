// hipExtLaunchKernelGGL with events, and a launch in a template of the host's.
#include "check.h"
#include <hip/hip_ext.h>

template <class T, class Op> __global__ void apply(T* x, Op op, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] = op(x[i]);
}
template <class T> struct Add {
  T by;
  __device__ T operator()(T x) const { return x + by; }
};
template <class T> void add(T* x, T by, int n) {
  apply<T, Add<T>><<<dim3(2), dim3(64)>>>(x, Add<T>{by}, n);
  apply<<<2, 64>>>(x, Add<T>{by}, n);
}

int main() {
  const int n = 333;
  int* x = to_device(std::vector<int>(n, 1));
  add(x, 2, n);
  hipEvent_t start, stop;
  HIP_CHECK(hipEventCreate(&start));
  HIP_CHECK(hipEventCreate(&stop));
  hipExtLaunchKernelGGL((apply<int, Add<int>>), dim3(1), dim3(64), 0, 0, start, stop, 0, x, Add<int>{10}, n);
  HIP_CHECK(hipEventSynchronize(stop));
  float ms = -1;
  HIP_CHECK(hipEventElapsedTime(&ms, start, stop));
  return verdict(to_host(x, n)[n - 1] == 15 && ms >= 0);
}
