// Halves: pairs, conversions, comparisons, maths, shuffles.
#include "check.h"
#include <hip/hip_fp16.h>

__global__ void pairs(float* f) {
  const __half2 a = __floats2half2_rn(1, 2), b = make_half2(__float2half(3), __float2half(-4));
  const float2 sum = __half22float2(__hadd2(a, b));
  f[0] = sum.x, f[1] = sum.y;
  f[2] = __low2float(__lowhigh2highlow(a)), f[3] = __high2float(__habs2(b)), f[4] = __low2float(__heq2(a, a));
  f[5] = __half2float(hexp2(__float2half(3))), f[6] = __half2float(hrsqrt(__float2half(16)));
  f[7] = __half2int_rn(__float2half(2.5f)), f[8] = __half2uint_rz(__float2half(7.9f)),
  f[9] = __half2ll_rd(__float2half(-1.5f));
  f[10] = __half2float(__float2half_rz(2049.5f)), f[11] = __half2float(__float2half_ru(2049.5f));
  f[12] = __half2float(__hadd_sat(__float2half(0.75f), __float2half(0.5f)));
  f[13] = __high2float(h2sqrt(__floats2half2_rn(4, 9))), f[14] = __half2float(hceil(__float2half(1.25f)));
  f[15] = __low2float(__float22half2_rn(make_float2(0.5f, 1)));
}
__global__ void shuffled(const __half* in, float* out) {
  __half sum = in[threadIdx.x];
  for (int by = 16; by; by /= 2)
    sum = __hadd(sum, __shfl_xor(sum, by, 32));
  out[threadIdx.x] = __half2float(sum);
}

int main() {
  float* f = to_device(std::vector<float>(32, 0));
  __half* h = to_device(std::vector<__half>(32, __float2half(0.25f)));
  pairs<<<1, 1>>>(f);
  bool right =
      to_host(f, 16) == std::vector<float>{4, -2, 2, 4, 1, 8, 0.25f, 2, 7, -2, 2048, 2050, 1, 3, 2, 0.5f};
  shuffled<<<1, 32>>>(h, f);
  return verdict(right && to_host(f, 32) == std::vector<float>(32, 8));
}
