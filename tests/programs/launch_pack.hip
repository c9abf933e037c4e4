// A kernel of any number of arguments, and a functor by value.
#include "check.h"

template <class... T> __global__ void sum_all(float* out, T... v) {
  out[threadIdx.x] = (0.0f + ... + v);
}
template <class F> __global__ void map(float* x, F f) {
  x[threadIdx.x] = f(x[threadIdx.x]);
}
struct Poly {
  float a, b;
  __device__ float operator()(float x) const { return a * x + b; }
};

int main() {
  float* x = to_device(std::vector<float>(64, 0));
  sum_all<<<1, 64>>>(x, 1, 2.5f, 4u);
  map<<<1, 64>>>(x, Poly{2, 1});
  const float by = 3;
  map<<<1, 64>>>(x, [=] __device__(float v) { return v * by; });
  return verdict(to_host(x, 64)[63] == 48);
}
