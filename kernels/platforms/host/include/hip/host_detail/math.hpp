// Device intrinsics that are no C library functions: bit counts, bit casts, rounding-mode arithmetic, clocks.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "hip/host_detail/abi.hpp"

inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
  return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0;
}
inline int __ffsll(long long x) {
  return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0;
}
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline int __mul24(int a, int b) {
  return (a << 8 >> 8) * (b << 8 >> 8);
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xFFFFFFu) * (b & 0xFFFFFFu);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline int __float2int_rn(float x) {
  return static_cast<int>(std::nearbyint(x));
}
inline int __float2int_rz(float x) {
  return static_cast<int>(x);
}
inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}
inline int __double2int_rn(double x) {
  return static_cast<int>(std::nearbyint(x));
}
inline int __double2int_rz(double x) {
  return static_cast<int>(x);
}
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}

// Rounded to nearest even, as the operators are. What HIP calls the fused one differs.
#define BITGATE_ROUND_TO_NEAREST(T, letter, fused, builtin)                                                  \
  inline T __##letter##add_rn(T a, T b) {                                                                    \
    return a + b;                                                                                            \
  }                                                                                                          \
  inline T __##letter##sub_rn(T a, T b) {                                                                    \
    return a - b;                                                                                            \
  }                                                                                                          \
  inline T __##letter##mul_rn(T a, T b) {                                                                    \
    return a * b;                                                                                            \
  }                                                                                                          \
  inline T __##letter##div_rn(T a, T b) {                                                                    \
    return a / b;                                                                                            \
  }                                                                                                          \
  inline T __##letter##sqrt_rn(T a) {                                                                        \
    return std::sqrt(a);                                                                                     \
  }                                                                                                          \
  inline T fused(T a, T b, T c) {                                                                            \
    return builtin(a, b, c);                                                                                 \
  }
BITGATE_ROUND_TO_NEAREST(float, f, __fmaf_rn, __builtin_fmaf)
BITGATE_ROUND_TO_NEAREST(double, d, __fma_rn, __builtin_fma)
#undef BITGATE_ROUND_TO_NEAREST

inline float rsqrtf(float a) {
  return 1.0f / std::sqrt(a);
}
inline double rsqrt(double a) {
  return 1.0 / std::sqrt(a);
}
inline float __saturatef(float a) {
  return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f;
}
inline float __expf(float a) {
  return std::exp(a);
}
inline float __logf(float a) {
  return std::log(a);
}
inline float __sinf(float a) {
  return std::sin(a);
}
inline float __cosf(float a) {
  return std::cos(a);
}
inline float __powf(float a, float b) {
  return std::pow(a, b);
}
inline float __fdividef(float a, float b) {
  return a / b;
}

// The global min and max of device code, for mixed arithmetic types as there.
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  else
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  else
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

template <class T> T __ldg(const T* address) {
  return *address;
}

inline long long clock64() {
  return static_cast<long long>(__builtin_ia32_rdtsc());
}
inline long long wall_clock64() {
  return clock64();
}
inline long long __clock64() {
  return clock64();
}
[[noreturn]] inline void __trap() {
  __builtin_trap();
}
