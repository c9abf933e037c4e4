// isfinite and its like without std::, on both sides.
#include "check.h"

__global__ void classify(const float* x, int* out) {
  const float v = x[threadIdx.x];
  out[threadIdx.x] = isfinite(v) ? 1 : isnan(v) ? 2 : isinf(v) ? (signbit(v) ? 4 : 3) : 0;
}

int main() {
  const std::vector<float> h = {1.0f, NAN, INFINITY, -INFINITY, 1e-42f};
  float* x = to_device(h);
  int* out = to_device(std::vector<int>(5, 0));
  classify<<<1, 5>>>(x, out);
  const auto found = to_host(out, 5);
  return verdict(found == std::vector<int>{1, 2, 3, 4, 1} && isfinite(h[0]) && !isfinite(h[2]) &&
                 isnan(h[1]) && abs(-2.5) == 2.5);
}
