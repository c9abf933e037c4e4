// Functions of <cmath> that are one instruction, or a short exact expansion in the compiler. Each rounds
// correctly, as IEEE 754 says; functions that would need ROCm's library (sin, exp ...) are not here.
// They stand beside the C library's as overloads for the device.
#pragma once

#define BITGATE_AMD_MATH1(name)                                                                              \
  __device__ __forceinline__ float name##f(float x) {                                                        \
    return __builtin_##name##f(x);                                                                           \
  }                                                                                                          \
  __device__ __forceinline__ float name(float x) {                                                           \
    return __builtin_##name##f(x);                                                                           \
  }                                                                                                          \
  __device__ __forceinline__ double name(double x) {                                                         \
    return __builtin_##name(x);                                                                              \
  }
#define BITGATE_AMD_MATH2(name)                                                                              \
  __device__ __forceinline__ float name##f(float x, float y) {                                               \
    return __builtin_##name##f(x, y);                                                                        \
  }                                                                                                          \
  __device__ __forceinline__ float name(float x, float y) {                                                  \
    return __builtin_##name##f(x, y);                                                                        \
  }                                                                                                          \
  __device__ __forceinline__ double name(double x, double y) {                                               \
    return __builtin_##name(x, y);                                                                           \
  }

BITGATE_AMD_MATH1(ceil)
BITGATE_AMD_MATH1(fabs)
BITGATE_AMD_MATH1(floor)
BITGATE_AMD_MATH1(nearbyint)
BITGATE_AMD_MATH1(rint)
BITGATE_AMD_MATH1(round)
BITGATE_AMD_MATH1(sqrt)
BITGATE_AMD_MATH1(trunc)
BITGATE_AMD_MATH2(copysign)
BITGATE_AMD_MATH2(fmax)
BITGATE_AMD_MATH2(fmin)

__device__ __forceinline__ float fmaf(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__device__ __forceinline__ float fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__device__ __forceinline__ double fma(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}

#undef BITGATE_AMD_MATH1
#undef BITGATE_AMD_MATH2
