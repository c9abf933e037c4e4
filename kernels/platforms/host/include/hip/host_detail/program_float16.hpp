// What the two 16-bit floats have alike and kernels of ours do without.
#pragma once

#include <cmath>

#include "hip/host_detail/directed.hpp"
#include "hip/host_detail/vector_types.hpp"

// The float toward one side of a float's nearest 16-bit value.
namespace bitgate_host {
template <class T, Rounding to> T float16_of(float value) {
  T rounded = value;
  const float back = static_cast<float>(rounded);
  if (back == value || value != value)
    return rounded;
  const bool down = to == Rounding::Down || (to == Rounding::Zero && value > 0);
  if (down ? value < back : back < value) { // one step over the bits, away from or toward zero
    const bool away = (back > 0 || (back == 0 && !down)) != down;
    if (back == 0)
      return T::of_bits(down ? 0x8001 : 0x0001);
    return T::of_bits(rounded.__x + (away ? 1 : -1));
  }
  return rounded;
}
} // namespace bitgate_host

#define BITGATE_FLOAT16_UNARY(T, Pair, name, expression)                                                     \
  inline T h##name(T a) {                                                                                    \
    const float x = a;                                                                                       \
    return expression;                                                                                       \
  }                                                                                                          \
  inline Pair h2##name(Pair a) {                                                                             \
    return {h##name(a.x), h##name(a.y)};                                                                     \
  }
#define BITGATE_FLOAT16_PAIRWISE(T, Pair, name)                                                              \
  inline Pair name##2(Pair a, Pair b) {                                                                      \
    return {name(a.x, b.x), name(a.y, b.y)};                                                                 \
  }
#define BITGATE_FLOAT16_COMPARED(T, Pair, name)                                                              \
  inline Pair name##2(Pair a, Pair b) {                                                                      \
    return {T(name(a.x, b.x) ? 1.0f : 0.0f), T(name(a.y, b.y) ? 1.0f : 0.0f)};                               \
  }
#define BITGATE_FLOAT16_INTEGER(T, word, letters, Integer)                                                   \
  inline Integer __##word##2##letters##_rn(T a) {                                                            \
    return bitgate_host::to_integer<Integer, bitgate_host::Rounding::Nearest>(static_cast<float>(a));        \
  }                                                                                                          \
  inline Integer __##word##2##letters##_rz(T a) {                                                            \
    return bitgate_host::to_integer<Integer, bitgate_host::Rounding::Zero>(static_cast<float>(a));           \
  }                                                                                                          \
  inline Integer __##word##2##letters##_ru(T a) {                                                            \
    return bitgate_host::to_integer<Integer, bitgate_host::Rounding::Up>(static_cast<float>(a));             \
  }                                                                                                          \
  inline Integer __##word##2##letters##_rd(T a) {                                                            \
    return bitgate_host::to_integer<Integer, bitgate_host::Rounding::Down>(static_cast<float>(a));           \
  }
// half brings the conversions to int with it.
#define BITGATE_FLOAT16_INTEGERS(T, word)                                                                    \
  BITGATE_FLOAT16_INTEGER(T, word, uint, unsigned)                                                           \
  BITGATE_FLOAT16_INTEGER(T, word, short, short)                                                             \
  BITGATE_FLOAT16_INTEGER(T, word, ushort, unsigned short)                                                   \
  BITGATE_FLOAT16_INTEGER(T, word, ll, long long)                                                            \
  BITGATE_FLOAT16_INTEGER(T, word, ull, unsigned long long)
#define BITGATE_FLOAT16_FUNCTIONS(T, Pair, word, to_float2, from_float2)                                     \
  inline float2 to_float2(Pair a) {                                                                          \
    return {static_cast<float>(a.x), static_cast<float>(a.y)};                                               \
  }                                                                                                          \
  inline Pair from_float2(float2 a) {                                                                        \
    return {T(a.x), T(a.y)};                                                                                 \
  }                                                                                                          \
  inline T __float2##word##_rz(float a) {                                                                    \
    return bitgate_host::float16_of<T, bitgate_host::Rounding::Zero>(a);                                     \
  }                                                                                                          \
  inline T __float2##word##_ru(float a) {                                                                    \
    return bitgate_host::float16_of<T, bitgate_host::Rounding::Up>(a);                                       \
  }                                                                                                          \
  inline T __float2##word##_rd(float a) {                                                                    \
    return bitgate_host::float16_of<T, bitgate_host::Rounding::Down>(a);                                     \
  }                                                                                                          \
  BITGATE_FLOAT16_UNARY(T, Pair, rsqrt, 1.0f / std::sqrt(x))                                                 \
  BITGATE_FLOAT16_UNARY(T, Pair, sin, std::sin(x))                                                           \
  BITGATE_FLOAT16_UNARY(T, Pair, cos, std::cos(x))                                                           \
  BITGATE_FLOAT16_UNARY(T, Pair, tanh, std::tanh(x))                                                         \
  BITGATE_FLOAT16_UNARY(T, Pair, exp2, std::exp2(x))                                                         \
  BITGATE_FLOAT16_UNARY(T, Pair, exp10, std::pow(10.0f, x))                                                  \
  BITGATE_FLOAT16_UNARY(T, Pair, log2, std::log2(x))                                                         \
  BITGATE_FLOAT16_UNARY(T, Pair, log10, std::log10(x))                                                       \
  BITGATE_FLOAT16_UNARY(T, Pair, floor, std::floor(x))                                                       \
  BITGATE_FLOAT16_UNARY(T, Pair, ceil, std::ceil(x))                                                         \
  BITGATE_FLOAT16_UNARY(T, Pair, trunc, std::trunc(x))                                                       \
  BITGATE_FLOAT16_UNARY(T, Pair, rint, std::nearbyint(x))                                                    \
  inline Pair h2sqrt(Pair a) {                                                                               \
    return {hsqrt(a.x), hsqrt(a.y)};                                                                         \
  }                                                                                                          \
  inline Pair h2exp(Pair a) {                                                                                \
    return {hexp(a.x), hexp(a.y)};                                                                           \
  }                                                                                                          \
  inline Pair h2log(Pair a) {                                                                                \
    return {hlog(a.x), hlog(a.y)};                                                                           \
  }                                                                                                          \
  inline Pair h2rcp(Pair a) {                                                                                \
    return {hrcp(a.x), hrcp(a.y)};                                                                           \
  }                                                                                                          \
  inline Pair __h2div(Pair a, Pair b) {                                                                      \
    return a / b;                                                                                            \
  }                                                                                                          \
  inline Pair __hneg2(Pair a) {                                                                              \
    return {__hneg(a.x), __hneg(a.y)};                                                                       \
  }                                                                                                          \
  inline Pair __habs2(Pair a) {                                                                              \
    return {__habs(a.x), __habs(a.y)};                                                                       \
  }                                                                                                          \
  BITGATE_FLOAT16_PAIRWISE(T, Pair, __hmax)                                                                  \
  BITGATE_FLOAT16_PAIRWISE(T, Pair, __hmin)                                                                  \
  BITGATE_FLOAT16_COMPARED(T, Pair, __heq)                                                                   \
  BITGATE_FLOAT16_COMPARED(T, Pair, __hne)                                                                   \
  BITGATE_FLOAT16_COMPARED(T, Pair, __hlt)                                                                   \
  BITGATE_FLOAT16_COMPARED(T, Pair, __hle)                                                                   \
  BITGATE_FLOAT16_COMPARED(T, Pair, __hgt)                                                                   \
  BITGATE_FLOAT16_COMPARED(T, Pair, __hge)                                                                   \
  BITGATE_FLOAT16_INTEGERS(T, word)                                                                          \
  inline T __uint2##word(unsigned a) {                                                                       \
    return a;                                                                                                \
  }                                                                                                          \
  inline T __short2##word##_rn(short a) {                                                                    \
    return static_cast<float>(a);                                                                            \
  }                                                                                                          \
  inline T __ushort2##word##_rn(unsigned short a) {                                                          \
    return static_cast<float>(a);                                                                            \
  }                                                                                                          \
  inline T __hadd_sat(T a, T b) {                                                                            \
    return __saturatef(static_cast<float>(a) + static_cast<float>(b));                                       \
  }                                                                                                          \
  inline T __hmul_sat(T a, T b) {                                                                            \
    return __saturatef(static_cast<float>(a) * static_cast<float>(b));                                       \
  }
