// The partial result of a reduction, for each kind: Sum, Max, Argmax of elements of type T.
//
//     Partial identity(), lift(value, l)   of nothing yet; of one element
//     combine(a, b)                        of any two parts of a row, in any order
//     atomic_combine(to, partial)          combine with what stands in memory
//     store(partial, y, index)             a result
//
// identity() has all bits zero, so that a memset makes it. Maxima are unsigned integers that are
// ordered as the values are: then the largest integer is the maximum, and ties are no matter. An argmax has
// the inverted place below the value, so that of equal values the first place is the largest.
#pragma once

#include "bitgate/reduction.hpp"

namespace reduction {

using bitgate::bits_as;

inline constexpr uint32_t sign = 0x80000000u;
inline constexpr uint32_t nan_key = 0xFFFFFFFFu; // above the key of infinity

BITGATE_HD inline uint32_t key_of(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  if ((bits & ~sign) > 0x7F800000u)
    return nan_key;
  return bits & sign ? ~bits : bits | sign;
}
BITGATE_HD inline uint32_t key_of(int32_t value) {
  return static_cast<uint32_t>(value) ^ sign;
}

// The value of a key, as T; of nan_key the quiet NaN.
template <class T> struct FromKey {
  BITGATE_HD static T value(uint32_t key) { return static_cast<T>(static_cast<int32_t>(key ^ sign)); }
};
BITGATE_HD inline float float_of(uint32_t key) {
  return bits_as<float>(key == nan_key ? 0x7FC00000u : key & sign ? key ^ sign : ~key);
}
template <> struct FromKey<float> {
  BITGATE_HD static float value(uint32_t key) { return float_of(key); }
};
template <> struct FromKey<bitgate::f16> {
  // Platforms disagree about the f16 of a NaN.
  BITGATE_HD static bitgate::f16 value(uint32_t key) {
    return key == nan_key ? bitgate::f16{0x7E00} : bitgate::narrow<bitgate::f16>(float_of(key));
  }
};
template <> struct FromKey<bitgate::bf16> {
  BITGATE_HD static bitgate::bf16 value(uint32_t key) {
    return bitgate::narrow<bitgate::bf16>(float_of(key));
  }
};

template <class T> struct Sum {
  using Element = T;
  using Result = typename bitgate::Reduced<T>::Sum;
  using Partial = typename bitgate::Reduced<T>::Accumulator;
  static constexpr const char* name = "sum";
  BITGATE_HD static Partial identity() { return 0; }
  BITGATE_HD static Partial lift(T value, int64_t) { return bitgate::Reduced<T>::widen(value); }
  BITGATE_HD static Partial combine(Partial a, Partial b) { return bitgate::reduced_sum(a, b); }
  __device__ static void atomic_combine(Partial* to, Partial partial) { atomicAdd(to, partial); }
  BITGATE_HD static void store(Partial partial, Result* y, int32_t*) {
    *y = bitgate::Reduced<T>::narrow(partial);
  }
};

template <class T> struct Max {
  using Element = T;
  using Result = T;
  using Partial = unsigned;
  static constexpr const char* name = "max";
  BITGATE_HD static Partial identity() { return 0; }
  BITGATE_HD static Partial lift(T value, int64_t) { return key_of(bitgate::Reduced<T>::widen(value)); }
  BITGATE_HD static Partial combine(Partial a, Partial b) { return a > b ? a : b; }
  __device__ static void atomic_combine(Partial* to, Partial partial) { atomicMax(to, partial); }
  BITGATE_HD static void store(Partial partial, Result* y, int32_t*) { *y = FromKey<T>::value(partial); }
};

template <class T> struct Argmax {
  using Element = T;
  using Result = T;
  using Partial = unsigned long long;
  static constexpr const char* name = "argmax";
  BITGATE_HD static Partial identity() { return 0; }
  BITGATE_HD static Partial lift(T value, int64_t l) {
    return static_cast<Partial>(Max<T>::lift(value, l)) << 32 | ~static_cast<uint32_t>(l);
  }
  BITGATE_HD static Partial combine(Partial a, Partial b) { return a > b ? a : b; }
  __device__ static void atomic_combine(Partial* to, Partial partial) { atomicMax(to, partial); }
  BITGATE_HD static void store(Partial partial, Result* y, int32_t* index) {
    *y = FromKey<T>::value(static_cast<uint32_t>(partial >> 32));
    *index = static_cast<int32_t>(~static_cast<uint32_t>(partial));
  }
};

} // namespace reduction
