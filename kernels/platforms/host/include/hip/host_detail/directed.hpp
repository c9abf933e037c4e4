// Arithmetic and conversions with the rounding that their names end in: _rn, _rz, _ru, _rd. The result to
// nearest is moved by one step where the error, which is exact, has the other sign.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "hip/host_detail/math.hpp"

namespace bitgate_host {

enum class Rounding { Nearest, Zero, Up, Down };

// `error`: the exact result minus the rounded one, of which the sign counts.
template <Rounding to, class T, class E> T moved(T rounded, E error) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (to == Rounding::Nearest || error == 0 || !(error == error) || std::isnan(rounded))
    return rounded;
  const bool down = to == Rounding::Down || (to == Rounding::Zero && rounded > 0);
  if (error < 0 && down)
    return std::nextafter(rounded, -infinity);
  if (error > 0 && !down)
    return std::nextafter(rounded, infinity);
  return rounded;
}
template <class T> T sum_error(T a, T b, T sum) {
  const T other = sum - a;
  return (a - (sum - other)) + (b - other);
}
template <Rounding to, class T> T add(T a, T b) {
  return moved<to>(a + b, sum_error(a, b, a + b));
}
template <Rounding to, class T> T multiply(T a, T b) {
  return moved<to>(a * b, std::fma(a, b, -(a * b)));
}
template <Rounding to, class T> T divide(T a, T b) {
  const T error = std::fma(-(a / b), b, a);
  return moved<to>(a / b, b < 0 ? -error : error);
}
template <Rounding to, class T> T root(T a) {
  const T rounded = std::sqrt(a);
  return moved<to>(rounded, std::fma(-rounded, rounded, a));
}
template <Rounding to, class T> T multiply_add(T a, T b, T c) {
  const long double product = static_cast<long double>(a) * b, sum = product + c;
  const T rounded = std::fma(a, b, c);
  return moved<to>(rounded, (sum - rounded) + sum_error<long double>(product, c, sum));
}

template <Rounding to, class T> T integral_of(T x) {
  return to == Rounding::Nearest ? std::nearbyint(x)
         : to == Rounding::Zero  ? std::trunc(x)
         : to == Rounding::Up    ? std::ceil(x)
                                 : std::floor(x);
}
// What does not fit becomes the nearest value that does, and NaN 0, as on a GPU.
template <class To, Rounding to, class From> To to_integer(From x) {
  const From whole = integral_of<to>(x);
  if (whole != whole)
    return 0;
  if (whole >= std::ldexp(From{1}, std::numeric_limits<To>::digits))
    return std::numeric_limits<To>::max();
  if (whole <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(whole);
}
template <class To, Rounding to, class From> To to_float(From x) {
  const To rounded = static_cast<To>(x);
  if constexpr (std::is_floating_point_v<From>)
    return moved<to>(rounded, static_cast<long double>(x) - rounded);
  else // 64 bits fit in a long double
    return moved<to>(rounded, static_cast<long double>(x) - static_cast<long double>(rounded));
}

} // namespace bitgate_host

#define BITGATE_DIRECTED(suffix, mode)                                                                       \
  inline float __fadd_##suffix(float a, float b) {                                                           \
    return bitgate_host::add<bitgate_host::Rounding::mode>(a, b);                                            \
  }                                                                                                          \
  inline float __fsub_##suffix(float a, float b) {                                                           \
    return bitgate_host::add<bitgate_host::Rounding::mode>(a, -b);                                           \
  }                                                                                                          \
  inline float __fmul_##suffix(float a, float b) {                                                           \
    return bitgate_host::multiply<bitgate_host::Rounding::mode>(a, b);                                       \
  }                                                                                                          \
  inline float __fdiv_##suffix(float a, float b) {                                                           \
    return bitgate_host::divide<bitgate_host::Rounding::mode>(a, b);                                         \
  }                                                                                                          \
  inline float __fsqrt_##suffix(float a) {                                                                   \
    return bitgate_host::root<bitgate_host::Rounding::mode>(a);                                              \
  }                                                                                                          \
  inline float __fmaf_##suffix(float a, float b, float c) {                                                  \
    return bitgate_host::multiply_add<bitgate_host::Rounding::mode>(a, b, c);                                \
  }                                                                                                          \
  inline double __dadd_##suffix(double a, double b) {                                                        \
    return bitgate_host::add<bitgate_host::Rounding::mode>(a, b);                                            \
  }                                                                                                          \
  inline double __dsub_##suffix(double a, double b) {                                                        \
    return bitgate_host::add<bitgate_host::Rounding::mode>(a, -b);                                           \
  }                                                                                                          \
  inline double __dmul_##suffix(double a, double b) {                                                        \
    return bitgate_host::multiply<bitgate_host::Rounding::mode>(a, b);                                       \
  }                                                                                                          \
  inline double __ddiv_##suffix(double a, double b) {                                                        \
    return bitgate_host::divide<bitgate_host::Rounding::mode>(a, b);                                         \
  }                                                                                                          \
  inline double __dsqrt_##suffix(double a) {                                                                 \
    return bitgate_host::root<bitgate_host::Rounding::mode>(a);                                              \
  }
BITGATE_DIRECTED(rz, Zero)
BITGATE_DIRECTED(ru, Up)
BITGATE_DIRECTED(rd, Down)
#undef BITGATE_DIRECTED

#define BITGATE_RECIPROCALS(suffix, mode)                                                                    \
  inline float __frcp_##suffix(float a) {                                                                    \
    return bitgate_host::divide<bitgate_host::Rounding::mode>(1.0f, a);                                      \
  }                                                                                                          \
  inline double __drcp_##suffix(double a) {                                                                  \
    return bitgate_host::divide<bitgate_host::Rounding::mode>(1.0, a);                                       \
  }
BITGATE_RECIPROCALS(rn, Nearest)
BITGATE_RECIPROCALS(rz, Zero)
BITGATE_RECIPROCALS(ru, Up)
BITGATE_RECIPROCALS(rd, Down)
#undef BITGATE_RECIPROCALS
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}

#define BITGATE_TO_INTEGER(name, From, To, suffix, mode)                                                     \
  inline To name##suffix(From x) {                                                                           \
    return bitgate_host::to_integer<To, bitgate_host::Rounding::mode>(x);                                    \
  }
#define BITGATE_TO_INTEGERS(name, From, To)                                                                  \
  BITGATE_TO_INTEGER(name, From, To, rn, Nearest)                                                            \
  BITGATE_TO_INTEGER(name, From, To, rz, Zero)                                                               \
  BITGATE_TO_INTEGER(name, From, To, ru, Up)                                                                 \
  BITGATE_TO_INTEGER(name, From, To, rd, Down)
BITGATE_TO_INTEGER(__float2int_, float, int, ru, Up)
BITGATE_TO_INTEGER(__float2int_, float, int, rd, Down)
BITGATE_TO_INTEGER(__double2int_, double, int, ru, Up)
BITGATE_TO_INTEGER(__double2int_, double, int, rd, Down)
BITGATE_TO_INTEGERS(__float2uint_, float, unsigned)
BITGATE_TO_INTEGERS(__float2ll_, float, long long)
BITGATE_TO_INTEGERS(__float2ull_, float, unsigned long long)
BITGATE_TO_INTEGERS(__double2uint_, double, unsigned)
BITGATE_TO_INTEGERS(__double2ll_, double, long long)
BITGATE_TO_INTEGERS(__double2ull_, double, unsigned long long)
#undef BITGATE_TO_INTEGERS
#undef BITGATE_TO_INTEGER

#define BITGATE_TO_FLOAT(name, From, To, suffix, mode)                                                       \
  inline To name##suffix(From x) {                                                                           \
    return bitgate_host::to_float<To, bitgate_host::Rounding::mode>(x);                                      \
  }
#define BITGATE_TO_FLOATS(name, From, To)                                                                    \
  BITGATE_TO_FLOAT(name, From, To, rz, Zero)                                                                 \
  BITGATE_TO_FLOAT(name, From, To, ru, Up)                                                                   \
  BITGATE_TO_FLOAT(name, From, To, rd, Down)
#define BITGATE_TO_FLOATS_RN(name, From, To)                                                                 \
  BITGATE_TO_FLOAT(name, From, To, rn, Nearest)                                                              \
  BITGATE_TO_FLOATS(name, From, To)
BITGATE_TO_FLOATS(__int2float_, int, float)
BITGATE_TO_FLOATS(__double2float_, double, float)
BITGATE_TO_FLOATS_RN(__uint2float_, unsigned, float)
BITGATE_TO_FLOATS_RN(__ll2float_, long long, float)
BITGATE_TO_FLOATS_RN(__ull2float_, unsigned long long, float)
BITGATE_TO_FLOATS_RN(__ll2double_, long long, double)
BITGATE_TO_FLOATS_RN(__ull2double_, unsigned long long, double)
#undef BITGATE_TO_FLOATS_RN
#undef BITGATE_TO_FLOATS
#undef BITGATE_TO_FLOAT
inline double __int2double_rn(int x) {
  return x;
}
inline double __uint2double_rn(unsigned x) {
  return x;
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<unsigned long long>(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(std::bit_cast<unsigned long long>(x));
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}
