// Fragments by MFMA: wave64, sums in f32 or, of i8, in i32. With kp = K * M / 64 elements a lane:
//   A: row = lane % M, k = (lane / M) * kp + e        B: column = lane % N, k = (lane / N) * kp + e
//   C: column = lane % N, row = 4 * ((64 / N) * (r / 4) + lane / N) + r % 4
//
// 8-bit floats have instructions in at most one flavour; the others are multiplied as bf16
// (fragment_steps.hpp).
#pragma once

#include "bitgate/fragment_lanes.hpp"

namespace bitgate {
namespace detail {

// Mfma<A, B, M, N, K>: the operand's register type and the instruction, where the target has it. Device code
// only; the host's pass of the compiler sees the types and no builtin.
template <class A, class B, int M, int N, int K> struct Mfma;

#if defined(__HIP_DEVICE_COMPILE__)
#define BITGATE_MFMA_RUN(builtin) return builtin(a, b, c, 0, 0, 0)
#else
#define BITGATE_MFMA_RUN(builtin) return a, b, c
#endif
#define BITGATE_MFMA_FRAGMENT(A, B, M, N, K, Operand, Sums, builtin)                                         \
  template <> struct Mfma<A, B, M, N, K> {                                                                   \
    using operand_type = Operand;                                                                            \
    using sum_type = Sums;                                                                                   \
    static __device__ sum_type run(operand_type a, operand_type b, sum_type c) {                             \
      BITGATE_MFMA_RUN(builtin);                                                                             \
    }                                                                                                        \
  };
#define BITGATE_MFMA_F8(F8, BF8)                                                                             \
  BITGATE_MFMA_FRAGMENT(F8, F8, 16, 16, 32, int64_t, floats4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)    \
  BITGATE_MFMA_FRAGMENT(F8, BF8, 16, 16, 32, int64_t, floats4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8)   \
  BITGATE_MFMA_FRAGMENT(BF8, F8, 16, 16, 32, int64_t, floats4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8)   \
  BITGATE_MFMA_FRAGMENT(BF8, BF8, 16, 16, 32, int64_t, floats4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8)

using half4 = __attribute__((ext_vector_type(4))) _Float16;
using short4_ = __attribute__((ext_vector_type(4))) short;
using floats4 = __attribute__((ext_vector_type(4))) float;
using floats16 = __attribute__((ext_vector_type(16))) float;
using ints4 = __attribute__((ext_vector_type(4))) int;

BITGATE_MFMA_FRAGMENT(f16, f16, 32, 32, 8, half4, floats16, __builtin_amdgcn_mfma_f32_32x32x8f16)
BITGATE_MFMA_FRAGMENT(f16, f16, 16, 16, 16, half4, floats4, __builtin_amdgcn_mfma_f32_16x16x16f16)
BITGATE_MFMA_FRAGMENT(bf16, bf16, 32, 32, 8, short4_, floats16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
BITGATE_MFMA_FRAGMENT(bf16, bf16, 16, 16, 16, short4_, floats4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
BITGATE_MFMA_FRAGMENT(float, float, 16, 16, 4, float, floats4, __builtin_amdgcn_mfma_f32_16x16x4f32)
#if BITGATE_MATRIX_I8_K == 32
BITGATE_MFMA_FRAGMENT(int8_t, int8_t, 16, 16, 32, int64_t, ints4, __builtin_amdgcn_mfma_i32_16x16x32_i8)
#else
BITGATE_MFMA_FRAGMENT(int8_t, int8_t, 16, 16, 16, int, ints4, __builtin_amdgcn_mfma_i32_16x16x16i8)
#endif
#if defined(BITGATE_MATRIX_F8_FNUZ)
BITGATE_MFMA_F8(f8fnuz, bf8fnuz)
#elif defined(BITGATE_MATRIX_F8_OCP)
BITGATE_MFMA_F8(f8ocp, bf8ocp)
#endif
#undef BITGATE_MFMA_F8
#undef BITGATE_MFMA_FRAGMENT
#undef BITGATE_MFMA_RUN

template <int M, int N, int K> struct MfmaLanes {
  static constexpr int per_lane = K * M / 64;
  static __device__ __forceinline__ int first_k(int lane) { return lane / M * per_lane; }
  static __device__ __forceinline__ int row(int lane, int r) {
    return 4 * (64 / N * (r / 4) + lane / N) + r % 4;
  }
};

template <class A, class B, int M, int N, int K>
concept HasMfma = requires { typename Mfma<A, B, M, N, K>::operand_type; };

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave>
struct Fragment : SteppedFragment<A, B, M, N, K, Wave, 16> {
  static_assert(Wave == 64, "MFMA works on waves of 64 lanes");
};
template <class A, class B, int M, int N, int K>
  requires detail::HasMfma<A, B, M, N, K>
struct Fragment<A, B, M, N, K, 64>
    : detail::LaneFragment<A, B, M, N, 64, detail::Mfma<A, B, M, N, K>, detail::MfmaLanes<M, N, K>> {};

} // namespace bitgate
