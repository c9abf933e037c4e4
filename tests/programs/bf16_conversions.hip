// bfloat16: conversions from and to each type, pairs, rounding, maths.
#include "check.h"
#include <hip/hip_bf16.h>

__global__ void convert(const float* in, __hip_bfloat16* out, float2* pairs, int* ints) {
  const int i = threadIdx.x;
  out[i] = __float2bfloat16(in[i]);
  const __hip_bfloat162 both = __float22bfloat162_rn(make_float2(in[i], -in[i]));
  pairs[i] = __bfloat1622float2(__hadd2(both, __float2bfloat162_rn(1.0f)));
  ints[i] = __bfloat162int_rz(out[i]) + __bfloat162uint_rn(__float2bfloat16(2.5f));
}
__global__ void more(float* f) {
  const __hip_bfloat16 x = __double2bfloat16(2.0), y = __int2bfloat16_rn(3);
  f[0] = __bfloat162float(hsqrt(__hmul(x, x))), f[1] = __bfloat162float(__hfma(x, y, x));
  f[2] = __bfloat162float(__ushort_as_bfloat16(0x3F80)), f[3] = __hlt(x, y),
  f[4] = __bfloat162float(hrsqrt(__float2bfloat16(4)));
  f[5] = __bfloat162float(__float2bfloat16_rz(1.999f)), f[6] = __bfloat162float(__float2bfloat16_ru(1.001f));
  f[7] = __bfloat162float(__hmax(x, y)),
  f[8] = __low2float(__hmax2(make_bfloat162(x, y), make_bfloat162(y, x)));
  f[9] = __bfloat162float(__float2bfloat16_rd(-1.001f));
}

int main() {
  const std::vector<float> h = {1, 2.75f, 3.141592f, 1000.5f};
  float *in = to_device(h), *f = to_device(std::vector<float>(10, 0));
  auto* out = to_device(std::vector<__hip_bfloat16>(4));
  auto* pairs = to_device(std::vector<float2>(4));
  int* ints = to_device(std::vector<int>(4, 0));
  convert<<<1, 4>>>(in, out, pairs, ints);
  more<<<1, 1>>>(f);
  bool right = __bfloat162float(to_host(out, 4)[2]) == 3.140625f && to_host(pairs, 4)[1].x == 3.75f;
  right = right && to_host(pairs, 4)[1].y == -1.75f && to_host(ints, 4) == std::vector<int>{3, 4, 5, 1002};
  return verdict(right && to_host(f, 10) == std::vector<float>{2, 8, 1, 1, 0.5f, 1.9921875f, 1.0078125f, 3, 3,
                                                               -1.0078125f});
}
