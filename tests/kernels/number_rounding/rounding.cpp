// The conversions of kernels/include/bitgate/number.hpp on arrays.
#include "bitgate/number.hpp"

#define CONVERSIONS(type)                                                                                    \
  extern "C" void narrow_##type(const float* from, bitgate::type* to, int64_t count) {                       \
    for (int64_t i = 0; i < count; ++i)                                                                      \
      to[i] = bitgate::Number<bitgate::type>::narrow(from[i]);                                               \
  }                                                                                                          \
  extern "C" void widen_##type(const bitgate::type* from, float* to, int64_t count) {                        \
    for (int64_t i = 0; i < count; ++i)                                                                      \
      to[i] = bitgate::Number<bitgate::type>::widen(from[i]);                                                \
  }

CONVERSIONS(f8ocp)
CONVERSIONS(bf8ocp)
CONVERSIONS(f8fnuz)
CONVERSIONS(bf8fnuz)
CONVERSIONS(f16)
CONVERSIONS(bf16)
