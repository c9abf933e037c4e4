// Elements of every dtype to f32 or f64 (always exact) and back with one rounding to nearest even.
#pragma once

#include "bitgate/abi.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <immintrin.h>
#include <limits>

namespace bitgate::native {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
// Any type of one byte: its 256 values are a table that Python provides, so f8 needs no code here.
struct Byte {
  uint8_t bits;
};

template <class T, class Element> struct Load {
  const float* table; // of Byte
  T operator()(Element element) const {
    if constexpr (std::is_same_v<Element, Half>)
      return static_cast<T>(_cvtsh_ss(element.bits));
    else if constexpr (std::is_same_v<Element, Bfloat>)
      return static_cast<T>(std::bit_cast<float>(static_cast<uint32_t>(element.bits) << 16));
    else if constexpr (std::is_same_v<Element, Byte>)
      return static_cast<T>(table[element.bits]);
    else
      return static_cast<T>(element);
  }
};

// Converts f64 to f32, keeping in the last bit whether anything was lost: a second rounding to fewer bits is
// then as good as one.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !(std::abs(value) <= std::numeric_limits<float>::max()))
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value))
    bits -= 1; // towards zero
  return std::bit_cast<float>(bits | 1);
}

inline float narrow(float value) {
  return value;
}
inline float narrow(double value) {
  return round_to_odd(value);
}

template <class Element> struct Store;

template <> struct Store<double> {
  template <class T> static double round(T value) { return value; }
};
template <> struct Store<float> {
  template <class T> static float round(T value) { return static_cast<float>(value); }
};
template <> struct Store<Half> {
  template <class T> static Half round(T value) {
    return {static_cast<uint16_t>(_cvtss_sh(narrow(value), _MM_FROUND_TO_NEAREST_INT))};
  }
};
template <> struct Store<Bfloat> {
  template <class T> static Bfloat round(T value) {
    const float single = narrow(value);
    const uint32_t bits = std::bit_cast<uint32_t>(single);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u; // a NaN whose payload is in the lost bits must stay a NaN
    return {static_cast<uint16_t>(single == single ? rounded : quiet)};
  }
};
// To nearest even, and integers saturate: alpha and beta make fractions of the sums.
template <> struct Store<int8_t> {
  template <class T> static int8_t round(T value) {
    const T nearest = std::rint(value);
    return static_cast<int8_t>(nearest < T(-128) ? T(-128) : nearest > T(127) ? T(127) : nearest);
  }
};
template <> struct Store<int32_t> {
  template <class T> static int32_t round(T value) {
    const double wide = std::rint(value);
    return static_cast<int32_t>(wide < -2147483648.0  ? -2147483648.0
                                : wide > 2147483647.0 ? 2147483647.0
                                                      : wide);
  }
};

// Calls visit(Element{}) with the storage type of a dtype that is read.
template <class Visit> void with_element(int32_t dtype, Visit&& visit) {
  switch (dtype) {
  case BITGATE_F64:
    return visit(double{});
  case BITGATE_F32:
    return visit(float{});
  case BITGATE_F16:
    return visit(Half{});
  case BITGATE_BF16:
    return visit(Bfloat{});
  case BITGATE_I32:
    return visit(int32_t{});
  default:
    return visit(Byte{});
  }
}

// Calls visit for a dtype that is written; the f8 types are rounded in Python. False for an unknown type.
template <class Visit> bool with_result(int32_t dtype, Visit&& visit) {
  switch (dtype) {
  case BITGATE_F64:
    return visit(double{}), true;
  case BITGATE_F32:
    return visit(float{}), true;
  case BITGATE_F16:
    return visit(Half{}), true;
  case BITGATE_BF16:
    return visit(Bfloat{}), true;
  case BITGATE_I8:
    return visit(int8_t{}), true;
  case BITGATE_I32:
    return visit(int32_t{}), true;
  default:
    return false;
  }
}

} // namespace bitgate::native
