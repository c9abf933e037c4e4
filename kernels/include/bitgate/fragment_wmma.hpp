// Fragments by WMMA, of generation 11 or 12: wave32, 16x16x16, sums of 8 registers in f32 or, of i8, in i32.
//     gfx11                                         gfx12
//   A row = lane % 16, k = e, 16 elements           row = lane % 16, k = 8 * (lane / 16) + e, 8 elements
//   B column = lane % 16, k = e, 16 elements        column = lane % 16, k = 8 * (lane / 16) + e, 8 elements
//   C column = lane % 16, row = 2 * r + lane / 16   column = lane % 16, row = 8 * (lane / 16) + r
// On gfx11 lanes 16 to 31 must hold what lanes 0 to 15 hold.
//
// From 12 on there are instructions for 8-bit floats, of the ocp flavour; the others are multiplied as bf16
// (fragment_steps.hpp). f32 is 16xNx4 by fma (fragment_fma.hpp): there is no WMMA of f32.
#pragma once

#include "bitgate/fragment_lanes.hpp"

namespace bitgate {
namespace detail {

// What differs between the generations. The host's pass of the compiler sees the types and no builtin.
#if BITGATE_WMMA == 12
struct WmmaLanes {
  static constexpr int per_lane = 8;
  static __device__ __forceinline__ int first_k(int lane) { return lane / 16 * 8; }
  static __device__ __forceinline__ int row(int lane, int r) { return lane / 16 * 8 + r; }
};
#define BITGATE_WMMA_BUILTIN(types) __builtin_amdgcn_wmma_##types##_w32_gfx12
#elif BITGATE_WMMA == 11
struct WmmaLanes {
  static constexpr int per_lane = 16;
  static __device__ __forceinline__ int first_k(int) { return 0; }
  static __device__ __forceinline__ int row(int lane, int r) { return 2 * r + lane / 16; }
};
#define BITGATE_WMMA_BUILTIN(types) __builtin_amdgcn_wmma_##types##_w32
#else
#error "bitgate: fragments are written for WMMA of generation 11 and 12"
#endif

using Halves = __attribute__((ext_vector_type(WmmaLanes::per_lane))) _Float16;
using Shorts = __attribute__((ext_vector_type(WmmaLanes::per_lane))) short;
using Bytes = __attribute__((ext_vector_type(WmmaLanes::per_lane / 4))) int; // four elements each
using Floats8 = __attribute__((ext_vector_type(8))) float;
using Ints8 = __attribute__((ext_vector_type(8))) int;

// The operand's register type and the instruction for elements A and B, where the target has it.
template <class A, class B> struct WmmaOf;

#if defined(__HIP_DEVICE_COMPILE__)
#define BITGATE_WMMA_RUN(...) return __VA_ARGS__
#else
#define BITGATE_WMMA_RUN(...) return a, b, c
#endif
#define BITGATE_WMMA_FRAGMENT(A, B, Operand, Sums, ...)                                                      \
  template <> struct WmmaOf<A, B> {                                                                          \
    using operand_type = Operand;                                                                            \
    using sum_type = Sums;                                                                                   \
    static __device__ __forceinline__ sum_type run(operand_type a, operand_type b, sum_type c) {             \
      BITGATE_WMMA_RUN(__VA_ARGS__);                                                                         \
    }                                                                                                        \
  };

BITGATE_WMMA_FRAGMENT(f16, f16, Halves, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_f16)(a, b, c))
BITGATE_WMMA_FRAGMENT(bf16, bf16, Shorts, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_bf16)(a, b, c))
// Both operands are signed, and the sums wrap.
BITGATE_WMMA_FRAGMENT(int8_t, int8_t, Bytes, Ints8,
                      BITGATE_WMMA_BUILTIN(i32_16x16x16_iu8)(true, a, true, b, c, false))
#if defined(BITGATE_MATRIX_F8_OCP)
BITGATE_WMMA_FRAGMENT(f8ocp, f8ocp, Bytes, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_fp8_fp8)(a, b, c))
BITGATE_WMMA_FRAGMENT(f8ocp, bf8ocp, Bytes, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_fp8_bf8)(a, b, c))
BITGATE_WMMA_FRAGMENT(bf8ocp, f8ocp, Bytes, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_bf8_fp8)(a, b, c))
BITGATE_WMMA_FRAGMENT(bf8ocp, bf8ocp, Bytes, Floats8, BITGATE_WMMA_BUILTIN(f32_16x16x16_bf8_bf8)(a, b, c))
#endif
#undef BITGATE_WMMA_FRAGMENT
#undef BITGATE_WMMA_RUN
#undef BITGATE_WMMA_BUILTIN

template <class A, class B, int M, int N, int K>
concept HasWmma = M == 16 && N == 16 && K == 16 && requires { typename WmmaOf<A, B>::operand_type; };

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave>
struct Fragment : SteppedFragment<A, B, M, N, K, Wave, 16> {
  static_assert(Wave == 32 && M == 16 && N == 16, "WMMA is 16x16x16 on waves of 32 lanes");
};

template <class A, class B, int M, int N, int K>
  requires detail::HasWmma<A, B, M, N, K>
struct Fragment<A, B, M, N, K, 32>
    : detail::LaneFragment<A, B, M, N, 32, detail::WmmaOf<A, B>, detail::WmmaLanes> {};

} // namespace bitgate

#include "bitgate/fragment_fma.hpp"
