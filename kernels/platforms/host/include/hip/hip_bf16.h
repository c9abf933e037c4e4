// __hip_bfloat16 and __hip_bfloat162 for the host: the upper half of a float, rounded to nearest even, NaN
// kept quiet. Arithmetic goes through float and rounds after each operation.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hip/host_detail/float16.hpp"

namespace bitgate_host {

inline float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

} // namespace bitgate_host

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __hip_bfloat16 : bitgate_host::Float16<__hip_bfloat16, 0x7F80> {
  unsigned short __x;

  __hip_bfloat16() = default;
  __hip_bfloat16(const __hip_bfloat16_raw& raw) : __x(raw.x) {}
  __hip_bfloat16(float value) : __x(bitgate_host::float_to_bfloat16(value)) {}
  // As in HIP these round twice, through float.
  __hip_bfloat16(double value) : __hip_bfloat16(static_cast<float>(value)) {}
  template <class T>
    requires std::is_integral_v<T>
  __hip_bfloat16(T value) : __hip_bfloat16(static_cast<float>(value)) {}

  operator float() const { return bitgate_host::bfloat16_to_float(__x); }
  operator __hip_bfloat16_raw() const { return {__x}; }
};

struct alignas(4) __hip_bfloat162 : bitgate_host::Float16Pair<__hip_bfloat162, __hip_bfloat16> {
  __hip_bfloat16 x, y;

  __hip_bfloat162() = default;
  __hip_bfloat162(__hip_bfloat16 x_, __hip_bfloat16 y_) : x(x_), y(y_) {}
};
static_assert(sizeof(__hip_bfloat16) == 2 && sizeof(__hip_bfloat162) == 4);

inline __hip_bfloat16 __float2bfloat16(float a) {
  return a;
}
inline __hip_bfloat16 __float2bfloat16_rn(float a) {
  return a;
}
inline __hip_bfloat16 __double2bfloat16(double a) {
  return a;
}
inline __hip_bfloat16 __int2bfloat16_rn(int a) {
  return a;
}
inline float __bfloat162float(__hip_bfloat16 a) {
  return a;
}
inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 a) {
  return a.__x;
}
inline short __bfloat16_as_short(__hip_bfloat16 a) {
  return static_cast<short>(a.__x);
}
inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __hip_bfloat16_raw{bits};
}
inline __hip_bfloat16 __short_as_bfloat16(short bits) {
  return __hip_bfloat16_raw{static_cast<unsigned short>(bits)};
}

inline __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf(a, b, c);
}
inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) {
  return {a, b};
}
inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) {
  return {a, a};
}
inline __hip_bfloat162 __float2bfloat162_rn(float a) {
  return {a, a};
}
inline __hip_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {a, b};
}
inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) {
  return a.x;
}
inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) {
  return a.y;
}
