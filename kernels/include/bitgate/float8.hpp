// The four 8-bit float types, in software, the same on every platform.
//
//              bits s.e.m  bias   largest  infinity  NaN             zero
//   f8ocp      1.4.3       7      448      -         0x7F, 0xFF      +0 and -0
//   bf8ocp     1.5.2       15     57344    0x7C      0x7D to 0x7F    +0 and -0      (and with the sign bit)
//   f8fnuz     1.4.3       8      240      -         0x80            +0
//   bf8fnuz    1.5.2       16     57344    -         0x80            +0
//
// Rounding is to nearest even. A finite value that rounds beyond the largest number becomes the largest, with
// its sign. Infinity stays one in bf8ocp and becomes NaN in the others. NaN becomes the type's canonical one:
// 0x7F, 0x7E, 0x80, 0x80. exact/rounding.py states the same rule for the references.
#pragma once

#include <cstdint>

#include "bitgate/bits.hpp"

namespace bitgate {

struct f8ocp {
  uint8_t bits;
};
struct bf8ocp {
  uint8_t bits;
};
struct f8fnuz {
  uint8_t bits;
};
struct bf8fnuz {
  uint8_t bits;
};

// How a type's 8 bits are read. `largest` is the code of the largest finite number; where there is an
// infinity it is the next one.
template <class T> struct Float8;
template <> struct Float8<f8ocp> {
  static constexpr int mantissa = 3, bias = 7;
  static constexpr uint32_t largest = 0x7E, nan = 0x7F;
  static constexpr bool infinite = false, fnuz = false;
};
template <> struct Float8<bf8ocp> {
  static constexpr int mantissa = 2, bias = 15;
  static constexpr uint32_t largest = 0x7B, nan = 0x7E;
  static constexpr bool infinite = true, fnuz = false;
};
template <> struct Float8<f8fnuz> {
  static constexpr int mantissa = 3, bias = 8;
  static constexpr uint32_t largest = 0x7F, nan = 0x80;
  static constexpr bool infinite = false, fnuz = true; // no -0: its code is NaN
};
template <> struct Float8<bf8fnuz> {
  static constexpr int mantissa = 2, bias = 16;
  static constexpr uint32_t largest = 0x7F, nan = 0x80;
  static constexpr bool infinite = false, fnuz = true;
};

template <class T> inline constexpr bool is_float8 = requires { Float8<T>::bias; };

// 2 to the power of `exponent`, for exponents of normal f32.
BITGATE_HD inline float power_of_two(int exponent) {
  return bits_as<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

template <class T>
  requires is_float8<T>
BITGATE_HD inline float widen(T value) {
  using Format = Float8<T>;
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x80) << 24;
  const uint32_t code = value.bits & 0x7Fu;
  if (Format::infinite && code == Format::largest + 1)
    return bits_as<float>(sign | 0x7F800000u);
  if (Format::fnuz ? value.bits == Format::nan : code > Format::largest)
    return bits_as<float>(sign | 0x7FC00000u);
  constexpr uint32_t rebias = static_cast<uint32_t>(127 - Format::bias) << 23;
  // A subnormal is a count of the smallest one: no f32 subnormal comes up, which a platform might flush.
  const uint32_t magnitude =
      code >> Format::mantissa
          ? (code << (23 - Format::mantissa)) + rebias
          : bits_as<uint32_t>(static_cast<float>(code) * power_of_two(1 - Format::bias - Format::mantissa));
  return bits_as<float>(sign | magnitude);
}

template <class T> BITGATE_HD inline T narrow(float value) {
  using Format = Float8<T>;
  constexpr int dropped = 23 - Format::mantissa;
  const uint32_t bits = bits_as<uint32_t>(value);
  const uint32_t sign = bits >> 24 & 0x80u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x7F800000u) {
    const bool infinity = Format::infinite && magnitude == 0x7F800000u;
    return {static_cast<uint8_t>(infinity ? sign | (Format::largest + 1) : Format::nan)};
  }
  uint32_t code;
  if (magnitude < static_cast<uint32_t>(128 - Format::bias) << 23) {
    // Below the smallest normal: this sum has the spacing of the subnormals, so it does the rounding.
    const float anchor = power_of_two(24 - Format::bias - Format::mantissa);
    code = bits_as<uint32_t>(bits_as<float>(magnitude) + anchor) - bits_as<uint32_t>(anchor);
  } else {
    const uint32_t even = magnitude >> dropped & 1u;
    code = (magnitude + (1u << (dropped - 1)) - 1u + even) >> dropped;
    code -= static_cast<uint32_t>(127 - Format::bias) << Format::mantissa;
    code = code > Format::largest ? Format::largest : code;
  }
  const bool unsigned_zero = Format::fnuz && code == 0;
  return {static_cast<uint8_t>(unsigned_zero ? 0 : sign | code)};
}

} // namespace bitgate
