// Element types and the rules by which they widen, multiply-add and round. Every conversion rounds to nearest
// even, so a result cell is rounded exactly once, at its end.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "bitgate/abi.h"
#include "bitgate/bits.hpp"
#include "bitgate/float8.hpp"

#if defined(BITGATE_PLATFORM_HOST)
#include <immintrin.h>
#endif

namespace bitgate {

// 16-bit floats are bit patterns in memory; arithmetic happens in f32.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

BITGATE_HD inline float widen(f16 value) {
#if defined(BITGATE_PLATFORM_HOST)
  return _cvtsh_ss(value.bits);
#elif defined(BITGATE_PLATFORM_NVIDIA)
  return __half2float(bits_as<__half>(value.bits));
#else
  return static_cast<float>(bits_as<_Float16>(value.bits));
#endif
}

BITGATE_HD inline float widen(bf16 value) {
  return bits_as<float>(static_cast<uint32_t>(value.bits) << 16);
}

template <> BITGATE_HD inline f16 narrow<f16>(float value) {
#if defined(BITGATE_PLATFORM_HOST)
  return {_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
#elif defined(BITGATE_PLATFORM_NVIDIA)
  return {bits_as<uint16_t>(__float2half_rn(value))};
#else
  return {bits_as<uint16_t>(static_cast<_Float16>(value))};
#endif
}

template <> BITGATE_HD inline bf16 narrow<bf16>(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) // NaN: keep it one, quiet
    return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
#if defined(BITGATE_PLATFORM_NVIDIA)
  return {bits_as<uint16_t>(__float2bfloat16_rn(value))};
#else
  return {static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
#endif
}

// Nearest integer, ties to even, saturated to -128..127; NaN becomes 0.
BITGATE_HD inline int8_t narrow_i8(double value) {
  if (!(value == value))
    return 0;
  const double nearest = rint(value);
  return static_cast<int8_t>(nearest < -128.0 ? -128.0 : nearest > 127.0 ? 127.0 : nearest);
}

// Number<T>: Accumulator sums products of T, Epilogue is the type in which element-wise operations act.
// ElementOf<code>: the T of a code of enum bitgate_dtype.
template <class T> struct Number;
template <int32_t code> struct ElementOf;

// A type in which its own sums and operations are taken.
template <class T> struct WideNumber {
  using Accumulator = T;
  using Epilogue = T;
  BITGATE_HD static T widen(T v) { return v; }
  BITGATE_HD static T narrow(T v) { return v; }
};

// A type narrower than f32, in which its sums and operations are taken.
template <class T> struct NarrowNumber {
  using Accumulator = float;
  using Epilogue = float;
  BITGATE_HD static float widen(T v) { return bitgate::widen(v); }
  BITGATE_HD static T narrow(float v) { return bitgate::narrow<T>(v); }
};

template <class T> struct IntegerNumber {
  using Accumulator = int32_t;
  using Epilogue = double; // holds every i32 exactly
  BITGATE_HD static int32_t widen(T v) { return v; }
  BITGATE_HD static T narrow(double v) { return narrow_i8(v); }
};

#define BITGATE_NUMBER(T, code, Rules)                                                                       \
  template <> struct Number<T> : Rules<T> {                                                                  \
    static constexpr int dtype = code;                                                                       \
  };                                                                                                         \
  template <> struct ElementOf<code> : std::type_identity<T> {};
BITGATE_NUMBER(double, BITGATE_F64, WideNumber)
BITGATE_NUMBER(float, BITGATE_F32, WideNumber)
BITGATE_NUMBER(f16, BITGATE_F16, NarrowNumber)
BITGATE_NUMBER(bf16, BITGATE_BF16, NarrowNumber)
BITGATE_NUMBER(int8_t, BITGATE_I8, IntegerNumber)
BITGATE_NUMBER(f8ocp, BITGATE_F8_OCP, NarrowNumber)
BITGATE_NUMBER(bf8ocp, BITGATE_BF8_OCP, NarrowNumber)
BITGATE_NUMBER(f8fnuz, BITGATE_F8_FNUZ, NarrowNumber)
BITGATE_NUMBER(bf8fnuz, BITGATE_BF8_FNUZ, NarrowNumber)
#undef BITGATE_NUMBER

// The code of a type, of sums of integers too.
template <class T> inline constexpr int32_t code_of = Number<T>::dtype;
template <> inline constexpr int32_t code_of<int32_t> = BITGATE_I32;

// a * b + c with one rounding.
BITGATE_HD inline float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
BITGATE_HD inline double fused(double a, double b, double c) {
  return fma(a, b, c);
}
// Integers wrap modulo 2^32.
BITGATE_HD inline int32_t fused(int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b) + static_cast<uint32_t>(c));
}

} // namespace bitgate
