// HIP's bfloat16 as whole programs see it (bitgate-hipcc): the host's, and conversions that only they use.
#pragma once

#include_next <hip/hip_bf16.h>

#include "hip/host_detail/program_float16.hpp"

BITGATE_FLOAT16_FUNCTIONS(__hip_bfloat16, __hip_bfloat162, bfloat16, __bfloat1622float2,
                          __float22bfloat162_rn)
BITGATE_FLOAT16_INTEGER(__hip_bfloat16, bfloat16, int, int)
inline __hip_bfloat16 __uint2bfloat16_rn(unsigned a) {
  return a;
}
inline __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {a.x, b.x};
}
inline __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {a.y, b.y};
}
inline __hip_bfloat162 __low2bfloat162(__hip_bfloat162 a) {
  return {a.x, a.x};
}
inline __hip_bfloat162 __high2bfloat162(__hip_bfloat162 a) {
  return {a.y, a.y};
}
inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
inline double __bfloat162double(__hip_bfloat16 a) {
  return static_cast<float>(a);
}
inline __hip_bfloat16 __hfma_relu(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  const __hip_bfloat16 sum = __hfma(a, b, c);
  return static_cast<float>(sum) > 0 ? sum : __hip_bfloat16(0.0f);
}
using hip_bfloat162 = __hip_bfloat162;
