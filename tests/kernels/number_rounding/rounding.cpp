// The table of types, and the conversions of kernels/include/bitgate/number.hpp on arrays.
#include "bitgate/dtype.hpp"
#include "bitgate/number.hpp"

extern "C" int32_t count_dtypes() {
  return bitgate::dtype_count;
}
extern "C" const char* name_of(int32_t dtype) {
  return bitgate::dtype_name(dtype);
}
extern "C" int32_t bytes_of(int32_t dtype) {
  return bitgate::dtype_bytes(dtype);
}

// visit(Element{}) with the C++ type of a code that kernels multiply; 0 where there is none.
template <int32_t code = 0, class Visit> int32_t with_element(int32_t dtype, Visit&& visit) {
  if constexpr (code < bitgate::dtype_count) {
    if (dtype != code)
      return with_element<code + 1>(dtype, visit);
    if constexpr (requires { typename bitgate::ElementOf<code>::type; }) {
      using Element = typename bitgate::ElementOf<code>::type;
      static_assert(bitgate::code_of<Element> == code);
      return visit(Element{});
    }
  }
  return 0;
}

extern "C" int32_t element_bytes_of(int32_t dtype) {
  return with_element(dtype, []<class Element>(Element) { return static_cast<int32_t>(sizeof(Element)); });
}
extern "C" int32_t narrow(int32_t dtype, const float* from, void* to, int64_t count) {
  return with_element(dtype, [&]<class Element>(Element) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<Element*>(to)[i] = bitgate::Number<Element>::narrow(from[i]);
    return 1;
  });
}
extern "C" int32_t widen(int32_t dtype, const void* from, float* to, int64_t count) {
  return with_element(dtype, [&]<class Element>(Element) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = bitgate::Number<Element>::widen(static_cast<const Element*>(from)[i]);
    return 1;
  });
}
