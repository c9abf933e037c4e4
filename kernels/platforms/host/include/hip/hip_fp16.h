// __half and __half2 for the host: IEEE binary16, rounded to nearest even. Arithmetic goes through float and
// rounds after each operation; a product or sum of two halves is exact enough in float that this equals one
// correct rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hip/host_detail/float16.hpp"

namespace bitgate_host {

// F16C does the conversions; NaN stays NaN and becomes quiet.
inline float half_to_float(uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}
inline uint16_t float_to_half(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
inline uint16_t double_to_half(double value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

} // namespace bitgate_host

struct __half_raw {
  unsigned short x;
};

struct __half : bitgate_host::Float16<__half, 0x7C00> {
  unsigned short __x;

  __half() = default;
  __half(const __half_raw& raw) : __x(raw.x) {}
  __half(_Float16 value) : __x(std::bit_cast<unsigned short>(value)) {}
  __half(float value) : __x(bitgate_host::float_to_half(value)) {}
  __half(double value) : __x(bitgate_host::double_to_half(value)) {}
  template <class T>
    requires std::is_integral_v<T>
  __half(T value) : __x(bitgate_host::double_to_half(static_cast<double>(value))) {}

  operator float() const { return bitgate_host::half_to_float(__x); }
  operator __half_raw() const { return {__x}; }
};
using half = __half;

struct alignas(4) __half2 : bitgate_host::Float16Pair<__half2, __half> {
  __half x, y;

  __half2() = default;
  __half2(__half x_, __half y_) : x(x_), y(y_) {}
  explicit __half2(__half both) : x(both), y(both) {}
};
using half2 = __half2;
static_assert(sizeof(__half) == 2 && sizeof(__half2) == 4);

inline __half __float2half(float a) {
  return a;
}
inline __half __float2half_rn(float a) {
  return a;
}
inline __half __double2half(double a) {
  return a;
}
inline float __half2float(__half a) {
  return a;
}
inline __half __int2half_rn(int a) {
  return a;
}
inline __half __uint2half_rn(unsigned a) {
  return a;
}
inline __half __ll2half_rn(long long a) {
  return a;
}
inline int __half2int_rn(__half a) {
  return static_cast<int>(std::nearbyint(static_cast<float>(a)));
}
inline int __half2int_rz(__half a) {
  return static_cast<int>(static_cast<float>(a));
}
inline unsigned short __half_as_ushort(__half a) {
  return a.__x;
}
inline short __half_as_short(__half a) {
  return static_cast<short>(a.__x);
}
inline __half __ushort_as_half(unsigned short bits) {
  return __half_raw{bits};
}
inline __half __short_as_half(short bits) {
  return __half_raw{static_cast<unsigned short>(bits)};
}

// In double a product of halves and one more half are exact, so the only rounding is the last.
inline __half __hfma(__half a, __half b, __half c) {
  return static_cast<double>(static_cast<float>(a)) * static_cast<float>(b) + static_cast<float>(c);
}
inline __half2 __halves2half2(__half a, __half b) {
  return {a, b};
}
inline __half2 __half2half2(__half a) {
  return {a, a};
}
inline __half2 __float2half2_rn(float a) {
  return {a, a};
}
inline __half2 __floats2half2_rn(float a, float b) {
  return {a, b};
}
inline __half __low2half(__half2 a) {
  return a.x;
}
inline __half __high2half(__half2 a) {
  return a.y;
}
