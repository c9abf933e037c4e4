// HIP's half type as whole programs see it (bitgate-hipcc): the host's, and conversions that only they use.
#pragma once

#include_next <hip/hip_fp16.h>

#include "hip/host_detail/program_float16.hpp"

BITGATE_FLOAT16_FUNCTIONS(__half, __half2, half, __half22float2, __float22half2_rn)
inline __half2 __lows2half2(__half2 a, __half2 b) {
  return {a.x, b.x};
}
inline __half2 __highs2half2(__half2 a, __half2 b) {
  return {a.y, b.y};
}
inline __half2 __low2half2(__half2 a) {
  return {a.x, a.x};
}
inline __half2 __high2half2(__half2 a) {
  return {a.y, a.y};
}
inline __half2 __lowhigh2highlow(__half2 a) {
  return {a.y, a.x};
}
inline __half2 make_half2(__half x, __half y) {
  return {x, y};
}
inline double __half2double(__half a) {
  return static_cast<float>(a);
}
