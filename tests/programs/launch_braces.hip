// Braces, null pointers and default arguments as a kernel's arguments.
#include "check.h"

struct Box {
  int low, high;
  float by;
};
__global__ void clamp_to(float* x, Box box, const float* extra) {
  float& v = x[threadIdx.x];
  v = v < box.low ? box.low : v > box.high ? box.high : v;
  v = v * box.by + (extra ? extra[threadIdx.x] : 0);
}
__global__ void shift(float* x, float by = 100, int3 unused = {1, 2, 3}) {
  x[threadIdx.x] += by + unused.z;
}
template <class T> __global__ void pick(T* x, const T* other, int2 range) {
  if ((int)threadIdx.x >= range.x && (int)threadIdx.x < range.y && !other)
    x[threadIdx.x] = -1;
}

int main() {
  std::vector<float> h(64);
  for (int i = 0; i < 64; ++i)
    h[i] = i;
  float* x = to_device(h);
  const int low = 10;
  clamp_to<<<1, 64>>>(x, {low, 20, 2.0f}, NULL);
  clamp_to<<<1, 64>>>(x, Box{0, 1000, 1}, 0);
  shift<<<1, 64>>>(x);
  shift<<<1, 64>>>(x, 5.0f);
  pick<float><<<1, 64>>>(x, nullptr, {1, 3});
  h = to_host(x, 64);
  return verdict(h[0] == 131 && h[63] == 151 && h[1] == -1 && h[2] == -1 && h[3] == 131);
}
