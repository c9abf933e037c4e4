// Half for device code without ROCm's headers: the compiler's own type, and HIP's names for what it does.
#pragma once

#include <hip/hip_runtime.h>

using __half = _Float16;
using half = _Float16;

#define BITGATE_AMD_HALF __host__ __device__ inline
BITGATE_AMD_HALF float __half2float(__half value) {
  return static_cast<float>(value);
}
BITGATE_AMD_HALF __half __float2half(float value) {
  return static_cast<__half>(value);
}
BITGATE_AMD_HALF __half __float2half_rn(float value) {
  return static_cast<__half>(value);
}
BITGATE_AMD_HALF __half __hadd(__half a, __half b) {
  return a + b;
}
BITGATE_AMD_HALF __half __hsub(__half a, __half b) {
  return a - b;
}
BITGATE_AMD_HALF __half __hmul(__half a, __half b) {
  return a * b;
}
BITGATE_AMD_HALF __half __hfma(__half a, __half b, __half c) {
  return __builtin_fmaf16(a, b, c);
}
#undef BITGATE_AMD_HALF
