// __half and __half2 for the host: IEEE binary16, rounded to nearest even. Arithmetic goes through float and
// rounds after each operation; a product or sum of two halves is exact enough in float that this equals one
// correct rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "hip/host_detail/atomic.hpp"

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

struct __half {
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

  __half& operator+=(__half b);
  __half& operator-=(__half b);
  __half& operator*=(__half b);
  __half& operator/=(__half b);
  __half operator-() const { return __half_raw{static_cast<unsigned short>(__x ^ 0x8000)}; }
  __half operator+() const { return *this; }
};
using half = __half;

struct alignas(4) __half2 {
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

inline __half __hadd(__half a, __half b) {
  return static_cast<float>(a) + static_cast<float>(b);
}
inline __half __hsub(__half a, __half b) {
  return static_cast<float>(a) - static_cast<float>(b);
}
inline __half __hmul(__half a, __half b) {
  return static_cast<float>(a) * static_cast<float>(b);
}
inline __half __hdiv(__half a, __half b) {
  return static_cast<float>(a) / static_cast<float>(b);
}
// In double a product of halves and one more half are exact, so the only rounding is the last.
inline __half __hfma(__half a, __half b, __half c) {
  return static_cast<double>(static_cast<float>(a)) * static_cast<float>(b) + static_cast<float>(c);
}
inline __half __hneg(__half a) {
  return -a;
}
inline __half __habs(__half a) {
  return __half_raw{static_cast<unsigned short>(a.__x & 0x7FFF)};
}
inline bool __hisnan(__half a) {
  return (a.__x & 0x7FFF) > 0x7C00;
}
inline int __hisinf(__half a) {
  return (a.__x & 0x7FFF) != 0x7C00 ? 0 : a.__x & 0x8000 ? -1 : 1;
}
inline __half hsqrt(__half a) {
  return std::sqrt(static_cast<float>(a));
}
inline __half hrcp(__half a) {
  return 1.0f / static_cast<float>(a);
}
inline __half hexp(__half a) {
  return std::exp(static_cast<float>(a));
}
inline __half hlog(__half a) {
  return std::log(static_cast<float>(a));
}

#define BITGATE_HALF_COMPARISON(name, op)                                                                    \
  inline bool name(__half a, __half b) {                                                                     \
    return static_cast<float>(a) op static_cast<float>(b);                                                   \
  }                                                                                                          \
  inline bool operator op(__half a, __half b) {                                                              \
    return name(a, b);                                                                                       \
  }
BITGATE_HALF_COMPARISON(__heq, ==)
BITGATE_HALF_COMPARISON(__hne, !=)
BITGATE_HALF_COMPARISON(__hlt, <)
BITGATE_HALF_COMPARISON(__hle, <=)
BITGATE_HALF_COMPARISON(__hgt, >)
BITGATE_HALF_COMPARISON(__hge, >=)
#undef BITGATE_HALF_COMPARISON
inline __half __hmax(__half a, __half b) {
  return std::fmax(static_cast<float>(a), static_cast<float>(b));
}
inline __half __hmin(__half a, __half b) {
  return std::fmin(static_cast<float>(a), static_cast<float>(b));
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
inline float __low2float(__half2 a) {
  return a.x;
}
inline float __high2float(__half2 a) {
  return a.y;
}
inline __half __low2half(__half2 a) {
  return a.x;
}
inline __half __high2half(__half2 a) {
  return a.y;
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

#define BITGATE_HALF_ARITHMETIC(name, op)                                                                    \
  inline __half operator op(__half a, __half b) {                                                            \
    return name(a, b);                                                                                       \
  }                                                                                                          \
  inline __half& __half::operator op##=(__half b) {                                                          \
    return *this = name(*this, b);                                                                           \
  }                                                                                                          \
  inline __half2 name##2(__half2 a, __half2 b) {                                                             \
    return {name(a.x, b.x), name(a.y, b.y)};                                                                 \
  }                                                                                                          \
  inline __half2 operator op(__half2 a, __half2 b) {                                                         \
    return name##2(a, b);                                                                                    \
  }                                                                                                          \
  inline __half2& operator op##=(__half2 & a, __half2 b) {                                                   \
    return a = a op b;                                                                                       \
  }
BITGATE_HALF_ARITHMETIC(__hadd, +)
BITGATE_HALF_ARITHMETIC(__hsub, -)
BITGATE_HALF_ARITHMETIC(__hmul, *)
BITGATE_HALF_ARITHMETIC(__hdiv, /)
#undef BITGATE_HALF_ARITHMETIC

inline __half2 atomicAdd(__half2* address, __half2 value) {
  return bitgate_host::atomic_update(address, [value](__half2 old) { return old + value; });
}
inline __half2 unsafeAtomicAdd(__half2* address, __half2 value) {
  return atomicAdd(address, value);
}
inline __half atomicAdd(__half* address, __half value) {
  return bitgate_host::atomic_update_16(address, [value](__half old) { return old + value; });
}
