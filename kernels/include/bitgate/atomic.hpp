// Adding to global memory while other blocks add to the same cells: to[i] = round(to[i] + values[i]) in the
// elements' own type, each cell by itself. The order of additions is open, so the bits are certain only while
// every partial sum is exact in that type: integers to 2048 in f16, to 256 in bf16.
//
//   f32         one atomic a cell
//   f16, bf16   two cells at once where the target has the instruction (BITGATE_PAIR_ADD_F16, .._BF16) and
//   the
//               address is a multiple of 4; otherwise compare-and-swap of the 32-bit word that holds the
//               cell, its other half unchanged
#pragma once

#include "bitgate/number.hpp"

namespace bitgate {
namespace detail {

template <class T> __device__ __forceinline__ T rounded_sum(T a, T b) {
  return Number<T>::narrow(Number<T>::widen(a) + Number<T>::widen(b));
}

__device__ __forceinline__ void add_one(float* to, float value) {
  atomicAdd(to, value);
}

#if defined(BITGATE_PLATFORM_HOST)

// 16 bits at a time: the last word of a tensor may end behind its buffer, where a guard page begins.
template <class T> inline void add_one(T* to, T value) {
  bitgate_host::atomic_update_16(to, [value](T old) { return rounded_sum(old, value); });
}

#else

template <class T> __device__ __forceinline__ void add_one(T* to, T value) {
  static_assert(sizeof(T) == 2);
  const auto address = reinterpret_cast<uintptr_t>(to);
  auto* word = reinterpret_cast<unsigned*>(address & ~uintptr_t{3});
  const unsigned shift = (address & 2) * 8;
  unsigned seen = *word, expected;
  do {
    expected = seen;
    const T sum = rounded_sum(T{static_cast<uint16_t>(expected >> shift)}, value);
    const unsigned changed = (expected & ~(0xFFFFu << shift)) | static_cast<unsigned>(sum.bits) << shift;
    seen = atomicCAS(word, expected, changed);
  } while (seen != expected);
}

#endif

// The target's instruction for two neighbours, where it has one.
template <class T> inline constexpr bool has_pair_add = false;
template <class T> __device__ __forceinline__ void add_pair(T* to, T low, T high);

#if defined(BITGATE_PLATFORM_AMD) && defined(__HIP_DEVICE_COMPILE__)
#define BITGATE_PAIR_ADD(T, Element, builtin)                                                                \
  template <> inline constexpr bool has_pair_add<T> = true;                                                  \
  template <> __device__ __forceinline__ void add_pair<T>(T * to, T low, T high) {                           \
    using Pair = __attribute__((ext_vector_type(2))) Element;                                                \
    builtin((__attribute__((address_space(1))) Pair*)to,                                                     \
            Pair{bits_as<Element>(low), bits_as<Element>(high)});                                            \
  }
#if defined(BITGATE_PAIR_ADD_F16)
BITGATE_PAIR_ADD(f16, _Float16, __builtin_amdgcn_global_atomic_fadd_v2f16)
#endif
#if defined(BITGATE_PAIR_ADD_BF16)
BITGATE_PAIR_ADD(bf16, short, __builtin_amdgcn_global_atomic_fadd_v2bf16)
#endif
#undef BITGATE_PAIR_ADD
#endif

#if defined(BITGATE_PLATFORM_NVIDIA) && defined(__CUDA_ARCH__)
#define BITGATE_PAIR_ADD(T, suffix)                                                                          \
  template <> inline constexpr bool has_pair_add<T> = true;                                                  \
  template <> __device__ __forceinline__ void add_pair<T>(T * to, T low, T high) {                           \
    const uint32_t pair = static_cast<uint32_t>(low.bits) | static_cast<uint32_t>(high.bits) << 16;          \
    asm volatile("red.global.add.noftz." suffix " [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(pair)  \
                 : "memory");                                                                                \
  }
#if defined(BITGATE_PAIR_ADD_F16)
BITGATE_PAIR_ADD(f16, "f16x2")
#endif
#if defined(BITGATE_PAIR_ADD_BF16)
BITGATE_PAIR_ADD(bf16, "bf16x2")
#endif
#undef BITGATE_PAIR_ADD
#endif

} // namespace detail

// to[i] += values[i]. `to` is a multiple of the vector's size.
template <int Count, class T> __device__ __forceinline__ void atomic_add(T* to, const T (&values)[Count]) {
  if constexpr (detail::has_pair_add<T> && Count % 2 == 0) {
    for (int i = 0; i < Count; i += 2)
      detail::add_pair(to + i, values[i], values[i + 1]);
  } else {
    for (int i = 0; i < Count; ++i)
      detail::add_one(to + i, values[i]);
  }
}

} // namespace bitgate
