// float4, int2 and their family: HIP's sizes and alignments, element-wise operators, make_ functions.
#pragma once

#include <type_traits>

#include "hip/host_detail/abi.hpp"

namespace bitgate_host {

template <class V, unsigned N> struct VectorTraits {
  static constexpr unsigned size = N;
};
template <class V> struct VectorOf; // specialised below for each vector type
template <class V>
concept Vector = requires { VectorOf<V>::size; };
template <class V> using Element = decltype(V::x);

// Applies `op` to each pair of elements, or to each element and one scalar.
template <Vector V, class Op> constexpr V each(const V& a, const V& b, Op op) {
  using T = Element<V>;
  if constexpr (VectorOf<V>::size == 1)
    return {static_cast<T>(op(a.x, b.x))};
  else if constexpr (VectorOf<V>::size == 2)
    return {static_cast<T>(op(a.x, b.x)), static_cast<T>(op(a.y, b.y))};
  else if constexpr (VectorOf<V>::size == 3)
    return {static_cast<T>(op(a.x, b.x)), static_cast<T>(op(a.y, b.y)), static_cast<T>(op(a.z, b.z))};
  else
    return {static_cast<T>(op(a.x, b.x)), static_cast<T>(op(a.y, b.y)), static_cast<T>(op(a.z, b.z)),
            static_cast<T>(op(a.w, b.w))};
}

template <Vector V> constexpr V splat(Element<V> s) {
  if constexpr (VectorOf<V>::size == 1)
    return {s};
  else if constexpr (VectorOf<V>::size == 2)
    return {s, s};
  else if constexpr (VectorOf<V>::size == 3)
    return {s, s, s};
  else
    return {s, s, s, s};
}

} // namespace bitgate_host

#define BITGATE_VECTOR_TRAITS(base, scalar)                                                                  \
  template <> struct bitgate_host::VectorOf<base##1> : VectorTraits<base##1, 1> {};                          \
  template <> struct bitgate_host::VectorOf<base##2> : VectorTraits<base##2, 2> {};                          \
  template <> struct bitgate_host::VectorOf<base##3> : VectorTraits<base##3, 3> {};                          \
  template <> struct bitgate_host::VectorOf<base##4> : VectorTraits<base##4, 4> {};                          \
  constexpr base##1 make_##base##1(scalar x) {                                                               \
    return {x};                                                                                              \
  }                                                                                                          \
  constexpr base##2 make_##base##2(scalar x, scalar y) {                                                     \
    return {x, y};                                                                                           \
  }                                                                                                          \
  constexpr base##3 make_##base##3(scalar x, scalar y, scalar z) {                                           \
    return {x, y, z};                                                                                        \
  }                                                                                                          \
  constexpr base##4 make_##base##4(scalar x, scalar y, scalar z, scalar w) {                                 \
    return {x, y, z, w};                                                                                     \
  }

#define BITGATE_VECTOR_FAMILY(base, scalar, align2, align4)                                                  \
  struct base##1 {                                                                                           \
    scalar x;                                                                                                \
  };                                                                                                         \
  struct alignas(align2) base##2 {                                                                           \
    scalar x, y;                                                                                             \
  };                                                                                                         \
  struct base##3 {                                                                                           \
    scalar x, y, z;                                                                                          \
  };                                                                                                         \
  struct alignas(align4) base##4 {                                                                           \
    scalar x, y, z, w;                                                                                       \
  };                                                                                                         \
  BITGATE_VECTOR_TRAITS(base, scalar)

BITGATE_VECTOR_FAMILY(char, signed char, 2, 4)
BITGATE_VECTOR_FAMILY(uchar, unsigned char, 2, 4)
BITGATE_VECTOR_FAMILY(short, short, 4, 8)
BITGATE_VECTOR_FAMILY(ushort, unsigned short, 4, 8)
BITGATE_VECTOR_FAMILY(int, int, 8, 16)
BITGATE_VECTOR_FAMILY(long, long, 16, 16)
BITGATE_VECTOR_FAMILY(ulong, unsigned long, 16, 16)
BITGATE_VECTOR_FAMILY(longlong, long long, 16, 16)
BITGATE_VECTOR_FAMILY(ulonglong, unsigned long long, 16, 16)
BITGATE_VECTOR_FAMILY(float, float, 8, 16)
BITGATE_VECTOR_FAMILY(double, double, 16, 16)

// uint3 is threadIdx's own type and so is declared with it.
struct uint1 {
  unsigned x;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
BITGATE_VECTOR_TRAITS(uint, unsigned)

#define BITGATE_VECTOR_OPERATOR(op)                                                                          \
  template <bitgate_host::Vector V> constexpr V operator op(const V& a, const V& b) {                        \
    return bitgate_host::each(a, b, [](auto x, auto y) { return x op y; });                                  \
  }                                                                                                          \
  template <bitgate_host::Vector V>                                                                          \
  constexpr V operator op(const V& a, std::type_identity_t<bitgate_host::Element<V>> s) {                    \
    return a op bitgate_host::splat<V>(s);                                                                   \
  }                                                                                                          \
  template <bitgate_host::Vector V>                                                                          \
  constexpr V operator op(std::type_identity_t<bitgate_host::Element<V>> s, const V& a) {                    \
    return bitgate_host::splat<V>(s) op a;                                                                   \
  }                                                                                                          \
  template <bitgate_host::Vector V> constexpr V& operator op##=(V & a, const V & b) {                        \
    return a = a op b;                                                                                       \
  }
BITGATE_VECTOR_OPERATOR(+)
BITGATE_VECTOR_OPERATOR(-)
BITGATE_VECTOR_OPERATOR(*)
BITGATE_VECTOR_OPERATOR(/)

template <bitgate_host::Vector V> constexpr bool operator==(const V& a, const V& b) {
  bool same = true;
  bitgate_host::each(a, b, [&same](auto x, auto y) {
    same = same && x == y;
    return x;
  });
  return same;
}

#undef BITGATE_VECTOR_FAMILY
#undef BITGATE_VECTOR_TRAITS
#undef BITGATE_VECTOR_OPERATOR
