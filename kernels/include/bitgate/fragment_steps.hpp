// Fragments for which a target has no instruction of their own: steps along k of a fragment that it has.
// 8-bit floats that are not the target's go through bf16, whose exponents and mantissa hold each value of all
// four types as a normal number: exactly, and out of reach of MFMA that flushes subnormal inputs.
//
// Included by the platforms' fragment headers.
#pragma once

#include <type_traits>

#include "bitgate/fragment.hpp"

namespace bitgate {
namespace detail {

// What the elements of an operand are multiplied as where they have no instruction.
template <class T> struct Widened {
  using type = T;
  static __device__ __forceinline__ T widen(T value) { return value; }
};
template <class T>
  requires is_float8<T>
struct Widened<T> {
  using type = bf16;
  static __device__ __forceinline__ bf16 widen(T value) {
    return {static_cast<uint16_t>(bits_as<uint32_t>(bitgate::widen(value)) >> 16)}; // the lower half is zero
  }
};

// A tile in LDS that is read as the wider type.
template <class T> struct WidenedTile {
  const T* tile;
  __device__ __forceinline__ auto operator[](int index) const { return Widened<T>::widen(tile[index]); }
};

} // namespace detail

// M x N x K as K / Step fragments of M x N x Step.
template <class A, class B, int M, int N, int K, int Wave, int Step> struct SteppedFragment {
  using Inner =
      Fragment<typename detail::Widened<A>::type, typename detail::Widened<B>::type, M, N, Step, Wave>;
  static_assert(K % Step == 0 && (K > Step || !std::is_same_v<typename detail::Widened<A>::type, A>),
                "the target has no matrix instruction for these types and extents");
  using Sum = typename Inner::Sum;
  using Accumulator = typename Inner::Accumulator;
  static constexpr int steps = K / Step;
  static constexpr int64_t exact_range = Inner::exact_range;

  struct OperandA {
    typename Inner::OperandA step[steps];
  };
  struct OperandB {
    typename Inner::OperandB step[steps];
  };

  template <class Work> static __device__ __forceinline__ void together(Work work) { Inner::together(work); }
  static __device__ __forceinline__ void load_a(const A* tile, int pitch, OperandA& a) {
#pragma unroll
    for (int i = 0; i < steps; ++i)
      Inner::load_a(detail::WidenedTile<A>{tile + i * Step}, pitch, a.step[i]);
  }
  static __device__ __forceinline__ void load_b(const B* tile, int pitch, OperandB& b) {
#pragma unroll
    for (int i = 0; i < steps; ++i)
      Inner::load_b(detail::WidenedTile<B>{tile + i * Step * pitch}, pitch, b.step[i]);
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) { Inner::clear(accumulator); }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
#pragma unroll
    for (int i = 0; i < steps; ++i)
      Inner::multiply(a.step[i], b.step[i], accumulator);
  }
  template <class Visit>
  static __device__ __forceinline__ void for_each(const Accumulator& accumulator, Visit visit) {
    Inner::for_each(accumulator, visit);
  }
  template <class Change>
  static __device__ __forceinline__ void update(Accumulator& accumulator, Change change) {
    Inner::update(accumulator, change);
  }
};

} // namespace bitgate
