// Fragments on NVIDIA GPUs (compute capability 8.0 and later), warps of 32 lanes, f32 accumulator.
//   f16, bf16  16x16x16 as two mma.sync.m16n8k16. With group = lane / 4 and member = lane % 4, register pair
//   r holds
//              A: row = group + 8 * (r % 2), k = 2 * member + 8 * (r / 2) + e
//              B: k = 2 * member + 8 * r + e, column = group        (of each 8-wide half)
//              C: row = group + 8 * (r / 2), column = 2 * member + r % 2
//   f32        16xNx4 by fma (fragment_fma.hpp): tensor cores would round the operands to tf32.
#pragma once

#include "bitgate/fragment.hpp"

namespace bitgate {
namespace detail {

__device__ __forceinline__ int wave_lane() {
  return static_cast<int>(threadIdx.x % 32);
}

__device__ __forceinline__ void mma_m16n8k16(f16, const uint32_t (&a)[4], const uint32_t (&b)[2],
                                             float (&c)[4]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void mma_m16n8k16(bf16, const uint32_t (&a)[4], const uint32_t (&b)[2],
                                             float (&c)[4]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave> struct Fragment {
  using Sum = float;
  static_assert(Wave == 32 && M == 16 && N == 16 && K == 16,
                "mma.sync is used for 16x16x16 on warps of 32 lanes");
  static constexpr int halves = N / 8;

  struct OperandA {
    uint32_t pairs[4];
  };
  struct OperandB {
    uint32_t pairs[halves][2];
  };
  struct Accumulator {
    float values[halves][4];
  };
  static constexpr int64_t exact_range = int64_t{1} << 24;

  template <class Work> static __device__ __forceinline__ void together(Work work) { work(); }
  static __device__ __forceinline__ void load_a(const A* tile, int pitch, OperandA& a) {
    const int group = detail::wave_lane() / 4, member = detail::wave_lane() % 4;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const A* pair = tile + (group + 8 * (r % 2)) * pitch + 2 * member + 8 * (r / 2);
      a.pairs[r] = pack(pair[0], pair[1]);
    }
  }
  static __device__ __forceinline__ void load_b(const B* tile, int pitch, OperandB& b) {
    const int group = detail::wave_lane() / 4, member = detail::wave_lane() % 4;
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const B* pair = tile + (2 * member + 8 * r) * pitch + 8 * half + group;
        b.pairs[half][r] = pack(pair[0], pair[pitch]);
      }
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) {
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        accumulator.values[half][r] = 0.0f;
  }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
#pragma unroll
    for (int half = 0; half < halves; ++half)
      detail::mma_m16n8k16(A{}, a.pairs, b.pairs[half], accumulator.values[half]);
  }
  template <class Visit>
  static __device__ __forceinline__ void for_each(const Accumulator& accumulator, Visit visit) {
    const int group = detail::wave_lane() / 4, member = detail::wave_lane() % 4;
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        visit(group + 8 * (r / 2), 8 * half + 2 * member + r % 2, accumulator.values[half][r]);
  }

private:
  template <class T> static __device__ __forceinline__ uint32_t pack(T low, T high) {
    return static_cast<uint32_t>(low.bits) | static_cast<uint32_t>(high.bits) << 16;
  }
};

} // namespace bitgate

#include "bitgate/fragment_fma.hpp"
