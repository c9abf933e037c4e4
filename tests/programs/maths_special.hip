// Functions of CUDA's and HIP's mathematics that C++ has not.
#include "check.h"

__global__ void functions(double* d, float* f) {
  f[0] = sinpif(0.5f), f[1] = cospif(1.0f), f[2] = rcbrtf(8.0f), f[3] = erfinvf(0.5f), f[4] = normcdff(0.0f);
  f[5] = erfcxf(0.0f), f[6] = rhypotf(3.0f, 4.0f), f[7] = norm3df(2, 3, 6), f[8] = exp10f(2.0f),
  f[9] = sinpif(7.0f);
  f[10] = cyl_bessel_i0f(0.0f), f[11] = normcdfinvf(0.975f), f[12] = fdividef(1, 4),
  f[13] = rnorm4df(1, 1, 1, 1);
  sincospif(0.25f, f + 14, f + 15);
  float sine, cosine;
  __sincosf(0.0f, &sine, &cosine);
  f[16] = sine + cosine, f[17] = __log2f(8.0f), f[18] = __exp10f(1.0f), f[19] = __tanf(0.0f),
  f[20] = rsqrtf(16.0f);
  d[0] = sinpi(1.5), d[1] = cospi(0.5), d[2] = erfinv(0.9), d[3] = erfcinv(1e-10), d[4] = normcdf(1.0);
  d[5] = rsqrt(4.0), d[6] = cbrt(27.0), d[7] = tgamma(5.0), d[8] = norm4d(1, 1, 1, 1),
  d[9] = cyl_bessel_i1(1.0);
  d[10] = erfcx(30.0);
}

int main() {
  double* d = to_device(std::vector<double>(11, 0));
  float* f = to_device(std::vector<float>(21, 0));
  functions<<<1, 1>>>(d, f);
  const auto a = to_host(d, 11);
  const auto b = to_host(f, 21);
  const double expected_d[] = {-1, 0, 1.1630871536766743, 4.572824967389486,   0.8413447460685429, 0.5, 3,
                               24, 2, 0.565159103992485,  0.018795888861416751};
  const float expected_f[] = {1,         -1,    0.5f, 0.476936276f, 0.5f,        1, 0.2f, 7,  100, 0,    1,
                              1.959964f, 0.25f, 0.5f, 0.70710678f,  0.70710678f, 1, 3,    10, 0,   0.25f};
  bool right = true;
  for (int i = 0; i < 11; ++i)
    right = right && fabs(a[i] - expected_d[i]) < 1e-12 * fmax(1, fabs(expected_d[i]));
  for (int i = 0; i < 21; ++i)
    right = right && fabsf(b[i] - expected_f[i]) < 2e-6f * fmaxf(1, fabsf(expected_f[i]));
  return verdict(right && b[9] == 0 && b[0] == 1);
}
