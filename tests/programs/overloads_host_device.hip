// One function for each side, and one for both that calls it.
#include "check.h"

__device__ int side(int x) {
  return x + 100;
}
__host__ int side(int x) {
  return x + 1;
}
__host__ __device__ int twice(int x) {
  return 2 * side(x);
}
__host__ float scaled(float x) {
  return x;
}
__device__ float scaled(float x) {
  return x * blockDim.x;
}
__host__ __device__ inline float pick(float a, float b) {
  return a < b ? a : b;
}
__host__ __device__ inline double pick(double a, double b) {
  return a < b ? b : a;
}

__global__ void run(int* out, float* f) {
  out[threadIdx.x] = twice(threadIdx.x);
  f[threadIdx.x] = scaled(2.0f) + pick(1.0f, 2.0f) + pick(1.0, 2.0);
}

int main() {
  int* out = to_device(std::vector<int>(4, 0));
  float* f = to_device(std::vector<float>(4, 0));
  run<<<1, 4>>>(out, f);
  return verdict(to_host(out, 4) == std::vector<int>{200, 202, 204, 206} && to_host(f, 4)[0] == 11 &&
                 twice(1) == 4 && scaled(3) == 3);
}
