// What the 16-bit floats of the host have in common, under HIP's names: arithmetic goes through float and
// rounds after each operation.
//
// Functions are friends of a base: found by their arguments, they convert as those of HIP do.
#pragma once

#include <cmath>

#include "hip/host_detail/atomic.hpp"

namespace bitgate_host {

// Of T, whose bits are `__x` and read `infinity` where the value is one.
template <class T, unsigned short infinity> struct Float16 {
#define BITGATE_ARITHMETIC(name, op)                                                                         \
  friend T name(T a, T b) { return static_cast<float>(a) op static_cast<float>(b); }                         \
  friend T operator op(T a, T b) { return name(a, b); }                                                      \
  friend T& operator op##=(T & a, T b) { return a = name(a, b); }
  BITGATE_ARITHMETIC(__hadd, +)
  BITGATE_ARITHMETIC(__hsub, -)
  BITGATE_ARITHMETIC(__hmul, *)
  BITGATE_ARITHMETIC(__hdiv, /)
#undef BITGATE_ARITHMETIC

#define BITGATE_COMPARISON(name, op)                                                                         \
  friend bool name(T a, T b) { return static_cast<float>(a) op static_cast<float>(b); }                      \
  friend bool operator op(T a, T b) { return name(a, b); }
  BITGATE_COMPARISON(__heq, ==)
  BITGATE_COMPARISON(__hne, !=)
  BITGATE_COMPARISON(__hlt, <)
  BITGATE_COMPARISON(__hle, <=)
  BITGATE_COMPARISON(__hgt, >)
  BITGATE_COMPARISON(__hge, >=)
#undef BITGATE_COMPARISON

  friend T operator-(T a) { return of_bits(a.__x ^ 0x8000); }
  friend T operator+(T a) { return a; }
  friend T __hneg(T a) { return -a; }
  friend T __habs(T a) { return of_bits(a.__x & 0x7FFF); }
  friend bool __hisnan(T a) { return (a.__x & 0x7FFF) > infinity; }
  friend int __hisinf(T a) { return (a.__x & 0x7FFF) != infinity ? 0 : a.__x & 0x8000 ? -1 : 1; }
  friend T __hmax(T a, T b) { return std::fmax(static_cast<float>(a), static_cast<float>(b)); }
  friend T __hmin(T a, T b) { return std::fmin(static_cast<float>(a), static_cast<float>(b)); }
  friend T hsqrt(T a) { return std::sqrt(static_cast<float>(a)); }
  friend T hrcp(T a) { return 1.0f / static_cast<float>(a); }
  friend T hexp(T a) { return std::exp(static_cast<float>(a)); }
  friend T hlog(T a) { return std::log(static_cast<float>(a)); }

  friend T atomicAdd(T* address, T value) {
    return atomic_update_16(address, [value](T old) { return old + value; });
  }

  static T of_bits(int bits) {
    T value;
    value.__x = static_cast<unsigned short>(bits);
    return value;
  }
};

// Of a pair of T, element by element.
template <class Pair, class T> struct Float16Pair {
#define BITGATE_ARITHMETIC(name, op)                                                                         \
  friend Pair name##2(Pair a, Pair b) { return {name(a.x, b.x), name(a.y, b.y)}; }                           \
  friend Pair operator op(Pair a, Pair b) { return name##2(a, b); }                                          \
  friend Pair& operator op##=(Pair & a, Pair b) { return a = a op b; }
  BITGATE_ARITHMETIC(__hadd, +)
  BITGATE_ARITHMETIC(__hsub, -)
  BITGATE_ARITHMETIC(__hmul, *)
  BITGATE_ARITHMETIC(__hdiv, /)
#undef BITGATE_ARITHMETIC

  friend Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
  friend float __low2float(Pair a) { return a.x; }
  friend float __high2float(Pair a) { return a.y; }

  friend Pair atomicAdd(Pair* address, Pair value) {
    return atomic_update(address, [value](Pair old) { return old + value; });
  }
  friend Pair unsafeAtomicAdd(Pair* address, Pair value) { return atomicAdd(address, value); }
};

} // namespace bitgate_host
