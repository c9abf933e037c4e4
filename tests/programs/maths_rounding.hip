// Arithmetic and conversions with the rounding in their name.
#include "check.h"

__global__ void arithmetic(float third, float* f, int* i, double* d) {
  f[0] = __frsqrt_rn(4.0f), f[1] = __frcp_ru(third), f[2] = __frcp_rd(third);
  f[3] = __fadd_ru(1.0f, 1e-9f), f[4] = __fadd_rd(1.0f, 1e-9f), f[5] = __fmul_rz(third, 7.0f);
  f[6] = __fdiv_ru(1.0f, 3.0f), f[7] = __fdiv_rd(1.0f, 3.0f), f[8] = __fsqrt_rd(2.0f),
  f[9] = __fsqrt_ru(2.0f);
  f[10] = __fmaf_rz(third, third, 1.0f), f[11] = __fsub_rd(1.0f, 1e-9f);
  i[0] = __float2int_rn(2.5f), i[1] = __float2int_ru(2.1f), i[2] = __float2int_rd(-2.1f),
  i[3] = __float2int_rz(-2.9f);
  i[4] = (int)__float2uint_rz(-5.0f), i[5] = __double2int_ru(1e-30), i[6] = (int)__float2ll_rn(3.5f);
  i[7] = __double2hiint(1.0), i[8] = __double2loint(1.0), i[9] = (int)__float2uint_rn(4e9f);
  d[0] = __hiloint2double(i[7], i[8]), d[1] = __ll2double_rn(1ll << 40), d[2] = __dadd_ru(1.0, 1e-20);
  f[12] = __int2float_rz(16777217), f[13] = __int2float_ru(16777217), f[14] = __double2float_rd(0.1);
  f[15] = __uint2float_rn(4000000000u);
}

int main() {
  float* f = to_device(std::vector<float>(16, 0));
  int* i = to_device(std::vector<int>(10, 0));
  double* d = to_device(std::vector<double>(3, 0));
  arithmetic<<<1, 1>>>(1.0f / 3, f, i, d);
  const auto a = to_host(f, 16);
  const auto b = to_host(i, 10);
  const auto c = to_host(d, 3);
  bool right = a[0] == 0.5f && a[1] > a[2] && a[3] == nextafterf(1, 2) && a[4] == 1;
  right = right && a[5] <= (double)(1.0f / 3) * 7 && a[6] == nextafterf(a[7], 1) && (double)a[6] > 1.0 / 3;
  right = right && (double)a[8] * a[8] < 2 && (double)a[9] * a[9] > 2 && a[9] == nextafterf(a[8], 2);
  right = right && a[10] <= 1 + (double)(1.0f / 3) * (1.0f / 3) && a[11] == nextafterf(1, 0);
  right = right && b == std::vector<int>{2, 3, -3, -2, 0, 1, 4, 1072693248, 0, (int)4000000000u};
  right = right && c[0] == 1 && c[1] == 1099511627776.0 && c[2] == nextafter(1.0, 2.0);
  return verdict(right && a[12] == 16777216 && a[13] == 16777218 && a[14] <= 0.1 && a[15] == 4000000000.0f);
}
