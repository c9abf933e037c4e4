// Fragments on gfx11 and gfx12: WMMA, wave32, 16x16x16, f32 accumulator of 8 registers.
//            gfx11                                        gfx12
//   A        row = lane % 16, k = e, 16 elements          row = lane % 16, k = 8 * (lane / 16) + e, 8
//   elements B        column = lane % 16, k = e, 16 elements       column = lane % 16, k = 8 * (lane / 16) +
//   e C        column = lane % 16, row = 2 * r + lane / 16  column = lane % 16, row = 8 * (lane / 16) + r
// On gfx11 lanes 16 to 31 must hold what lanes 0 to 15 hold. f32 is 16xNx4 by fma (fragment_fma.hpp): there
// is no WMMA of f32.
#pragma once

#include "bitgate/fragment.hpp"

namespace bitgate {
namespace detail {

// Wmma: what differs between the generations. The host's pass of the compiler sees the types and no builtin.
#if defined(__GFX12__) || !defined(__HIP_DEVICE_COMPILE__)
struct Wmma {
  static constexpr int per_lane = 8;
  static __device__ __forceinline__ int first_k(int lane) { return lane / 16 * 8; }
  static __device__ __forceinline__ int row(int lane, int r) { return lane / 16 * 8 + r; }
};
#define BITGATE_WMMA(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32_gfx12
#elif defined(__GFX11__)
struct Wmma {
  static constexpr int per_lane = 16;
  static __device__ __forceinline__ int first_k(int) { return 0; }
  static __device__ __forceinline__ int row(int lane, int r) { return 2 * r + lane / 16; }
};
#define BITGATE_WMMA(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32
#else
#error "bitgate: matrix fragments of 32 lanes are for gfx11 and gfx12; this target has no WMMA"
#endif

using Halves = __attribute__((ext_vector_type(Wmma::per_lane))) _Float16;
using Shorts = __attribute__((ext_vector_type(Wmma::per_lane))) short;
using Floats8 = __attribute__((ext_vector_type(8))) float;

template <class T> struct WmmaOperand;
template <> struct WmmaOperand<f16> {
  using type = Halves;
};
template <> struct WmmaOperand<bf16> {
  using type = Shorts;
};

#if defined(__HIP_DEVICE_COMPILE__)
__device__ __forceinline__ Floats8 wmma(Halves a, Halves b, Floats8 c) {
  return BITGATE_WMMA(f16)(a, b, c);
}
__device__ __forceinline__ Floats8 wmma(Shorts a, Shorts b, Floats8 c) {
  return BITGATE_WMMA(bf16)(a, b, c);
}
#else
template <class Operand> __device__ Floats8 wmma(Operand, Operand, Floats8 c) {
  return c;
}
#endif
#undef BITGATE_WMMA

__device__ __forceinline__ int wave_lane() {
  return static_cast<int>(__lane_id());
}

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave> struct Fragment {
  using Sum = float;
  static_assert(Wave == 32 && M == 16 && N == 16 && K == 16, "WMMA is 16x16x16 on waves of 32 lanes");
  static constexpr int per_lane = detail::Wmma::per_lane;
  static constexpr int sums = M * N / Wave;

  struct OperandA {
    A values[per_lane];
  };
  struct OperandB {
    B values[per_lane];
  };
  struct Accumulator {
    detail::Floats8 values;
  };
  static constexpr int64_t exact_range = int64_t{1} << 24;

  template <class Work> static __device__ __forceinline__ void together(Work work) { work(); }
  static __device__ __forceinline__ void load_a(const A* tile, int pitch, OperandA& a) {
    const int lane = detail::wave_lane(), row = lane % M, first = detail::Wmma::first_k(lane);
#pragma unroll
    for (int e = 0; e < per_lane; ++e)
      a.values[e] = tile[row * pitch + first + e];
  }
  static __device__ __forceinline__ void load_b(const B* tile, int pitch, OperandB& b) {
    const int lane = detail::wave_lane(), column = lane % N, first = detail::Wmma::first_k(lane);
#pragma unroll
    for (int e = 0; e < per_lane; ++e)
      b.values[e] = tile[(first + e) * pitch + column];
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) { accumulator.values = 0.0f; }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
    using Operand = typename detail::WmmaOperand<A>::type;
    accumulator.values = detail::wmma(bits_as<Operand>(a), bits_as<Operand>(b), accumulator.values);
  }
  template <class Visit>
  static __device__ __forceinline__ void for_each(const Accumulator& accumulator, Visit visit) {
    const int lane = detail::wave_lane(), column = lane % N;
#pragma unroll
    for (int r = 0; r < sums; ++r)
      visit(detail::Wmma::row(lane, r), column, accumulator.values[r]);
  }
};

} // namespace bitgate

#include "bitgate/fragment_fma.hpp"
