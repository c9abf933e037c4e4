// The table of types, and the conversions of kernels/include/bitgate/number.hpp on arrays.
#include "bitgate/dtype.hpp"
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

extern "C" int32_t count_dtypes() {
  return bitgate::dtype_count;
}
extern "C" const char* name_of(int32_t dtype) {
  return bitgate::dtype_name(dtype);
}
extern "C" int32_t bytes_of(int32_t dtype) {
  return bitgate::dtype_bytes(dtype);
}

// The bytes of the C++ type of a code that kernels multiply; 0: there is none.
template <int32_t code = 0> int32_t element_bytes(int32_t dtype) {
  if constexpr (code < bitgate::dtype_count) {
    if (dtype != code)
      return element_bytes<code + 1>(dtype);
    if constexpr (requires { typename bitgate::ElementOf<code>::type; }) {
      using Element = typename bitgate::ElementOf<code>::type;
      static_assert(bitgate::code_of<Element> == code);
      return sizeof(Element);
    }
  }
  return 0;
}
extern "C" int32_t element_bytes_of(int32_t dtype) {
  return element_bytes(dtype);
}
