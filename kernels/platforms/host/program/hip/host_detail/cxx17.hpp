// What the host's headers take from C++20, for programs in C++17, which g++ compiles with -fconcepts.
// bitgate-hipcc includes this first.
#pragma once

#if __cplusplus < 202002L
#include <limits>
#include <type_traits>

#define constinit __constinit

namespace std {
template <class T> struct type_identity {
  using type = T;
};
template <class T> using type_identity_t = typename type_identity<T>::type;
template <class T> using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;
template <class T>
concept integral = is_integral_v<T>;
template <class T>
concept floating_point = is_floating_point_v<T>;
template <class To, class From> constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
template <class T> constexpr int popcount(T value) {
  return __builtin_popcountll(value);
}
template <class T> constexpr int countl_zero(T value) {
  constexpr int bits = numeric_limits<T>::digits;
  return value ? __builtin_clzll(value) - (64 - bits) : bits;
}
template <class T> constexpr int countr_zero(T value) {
  return value ? __builtin_ctzll(value) : numeric_limits<T>::digits;
}
} // namespace std
#endif
