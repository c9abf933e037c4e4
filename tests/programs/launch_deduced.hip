// A template whose arguments all follow from the launch's.
#include "check.h"

template <class T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= by;
}

int main() {
  const int n = 1000;
  float* x = to_device(std::vector<float>(n, 3));
  double* y = to_device(std::vector<double>(n, 5));
  scale<<<(n + 127) / 128, 128>>>(x, 2.0f, n);
  scale<<<(n + 127) / 128, 128>>>(y, 0.5, n);
  bool right = true;
  for (float v : to_host(x, n))
    right = right && v == 6;
  for (double v : to_host(y, n))
    right = right && v == 2.5;
  return verdict(right);
}
