// The older bf16 type of HIP: explicit conversion from float, implicit to it.
#pragma once

#include "hip/hip_bf16.h"

struct hip_bfloat16 {
  uint16_t data;

  hip_bfloat16() = default;
  explicit hip_bfloat16(float value) : data(bitgate_host::float_to_bfloat16(value)) {}
  static hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }

  operator float() const { return bitgate_host::bfloat16_to_float(data); }
  explicit operator bool() const { return (data & 0x7FFF) != 0; }
  hip_bfloat16& operator=(float value) { return *this = hip_bfloat16(value); }
};
static_assert(sizeof(hip_bfloat16) == 2);

#define BITGATE_BFLOAT16_ARITHMETIC(op)                                                                      \
  inline hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) {                                          \
    return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                                     \
  }                                                                                                          \
  inline hip_bfloat16& operator op##=(hip_bfloat16 & a, hip_bfloat16 b) {                                    \
    return a = a op b;                                                                                       \
  }
BITGATE_BFLOAT16_ARITHMETIC(+)
BITGATE_BFLOAT16_ARITHMETIC(-)
BITGATE_BFLOAT16_ARITHMETIC(*)
BITGATE_BFLOAT16_ARITHMETIC(/)
#undef BITGATE_BFLOAT16_ARITHMETIC
inline hip_bfloat16 operator-(hip_bfloat16 a) {
  a.data ^= 0x8000;
  return a;
}
inline bool isnan(hip_bfloat16 a) {
  return (a.data & 0x7FFF) > 0x7F80;
}
inline bool isinf(hip_bfloat16 a) {
  return (a.data & 0x7FFF) == 0x7F80;
}
