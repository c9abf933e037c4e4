// Fragments on NVIDIA GPUs (compute capability 8.0 and later), warps of 32 lanes, sums in f32 or, of i8, in
// i32.
//   f16, bf16, i8  16x16x16 as two mma.sync.m16n8k16. With group = lane / 4, member = lane % 4 and `per`
//                  elements in a register of 32 bits, register r holds
//                  A: row = group + 8 * (r % 2), k = per * (member + 4 * (r / 2)) + e
//                  B: k = per * (member + 4 * r) + e, column = group        (of each 8-wide half)
//                  C: row = group + 8 * (r / 2), column = 2 * member + r % 2
//                  ldmatrix loads what lies in LDS in 16-bit elements; rows must start at multiples of 16
//                  bytes
//   8-bit floats   as bf16 (fragment_steps.hpp): tensor cores of Hopper sum products of 8-bit floats in fewer
//                  bits than f32 has, so that integers up to 2^24 would not survive
//   f32            16xNx4 by fma (fragment_fma.hpp): tensor cores would round the operands to tf32
#pragma once

#include "bitgate/fragment_steps.hpp"

namespace bitgate {
namespace detail {

__device__ __forceinline__ int wave_lane() {
  return static_cast<int>(threadIdx.x % 32);
}

// Mma<T>: the instruction m16n8k16 for elements T, where there is one.
template <class T> struct Mma;

#define BITGATE_MMA_16(T, name)                                                                              \
  template <> struct Mma<T> {                                                                                \
    static __device__ __forceinline__ void run(const uint32_t (&a)[4], const uint32_t (&b)[2],               \
                                               float (&c)[4]) {                                              \
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                                    \
                   ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                              \
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                          \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                      \
    }                                                                                                        \
    static __device__ __forceinline__ uint32_t bits(T value) {                                               \
      return value.bits;                                                                                     \
    }                                                                                                        \
  };
BITGATE_MMA_16(f16, "f16")
BITGATE_MMA_16(bf16, "bf16")
#undef BITGATE_MMA_16

template <> struct Mma<int8_t> {
  static __device__ __forceinline__ void run(const uint32_t (&a)[2], const uint32_t (&b)[1],
                                             int32_t (&c)[4]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
  static __device__ __forceinline__ uint32_t bits(int8_t value) { return static_cast<uint8_t>(value); }
};

// Four 8x8 matrices of 16-bit elements in LDS, one register each: lane l gives the address of row l % 8 of
// matrix l / 8, and gets the two neighbours (lane / 4, 2 * (lane % 4)) of each matrix, or of it turned.
template <bool turned, class T>
__device__ __forceinline__ void load_matrices(const T* row, uint32_t (&r)[4]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
// Where a lane's row begins in a 16x16 tile whose matrices come below each other first, or side by side.
__device__ __forceinline__ int row_below_first(int pitch) {
  return wave_lane() % 16 * pitch + wave_lane() / 16 * 8;
}
__device__ __forceinline__ int row_beside_first(int pitch) {
  return (wave_lane() % 8 + wave_lane() / 16 * 8) * pitch + wave_lane() / 8 % 2 * 8;
}

template <class T>
concept HalfWords = sizeof(T) == 2;

template <class A, class B, int M, int N, int K>
concept HasMma = M == 16 && N == 16 && K == 16 && std::is_same_v<A, B> && requires(A a) { Mma<A>::bits(a); };

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave>
struct Fragment : SteppedFragment<A, B, M, N, K, Wave, 16> {
  static_assert(Wave == 32 && M == 16 && N == 16, "mma.sync is used for 16x16x16 on warps of 32 lanes");
};

template <class A, class B, int M, int N, int K>
  requires detail::HasMma<A, B, M, N, K>
struct Fragment<A, B, M, N, K, 32> {
  using Instruction = detail::Mma<A>;
  using Sum = typename Number<A>::Accumulator;
  static constexpr int halves = N / 8;
  static constexpr int per = 4 / sizeof(A); // elements in a register
  static constexpr int registers_a = 8 / per, registers_b = 4 / per;

  struct OperandA {
    uint32_t registers[registers_a];
  };
  struct OperandB {
    uint32_t registers[halves][registers_b];
  };
  struct Accumulator {
    Sum values[halves][4];
  };
  static constexpr int64_t exact_range = exact_range_of<Sum>;

  template <class Work> static __device__ __forceinline__ void together(Work work) { work(); }
  template <class Tile>
  static __device__ __forceinline__ void load_a(const Tile& tile, int pitch, OperandA& a) {
    const int group = detail::wave_lane() / 4, member = detail::wave_lane() % 4;
#pragma unroll
    for (int r = 0; r < registers_a; ++r)
      a.registers[r] = gather(tile, (group + 8 * (r % 2)) * pitch + per * (member + 4 * (r / 2)), 1);
  }
  template <detail::HalfWords T>
  static __device__ __forceinline__ void load_a(const T* tile, int pitch, OperandA& a) {
    detail::load_matrices<false>(tile + detail::row_below_first(pitch), a.registers);
  }
  template <detail::HalfWords T>
  static __device__ __forceinline__ void load_a_turned(const T* tile, int pitch, OperandA& a) {
    detail::load_matrices<true>(tile + detail::row_beside_first(pitch), a.registers);
  }
  template <detail::HalfWords T>
  static __device__ __forceinline__ void load_b(const T* tile, int pitch, OperandB& b) {
    load_halves<true>(tile + detail::row_below_first(pitch), b);
  }
  template <detail::HalfWords T>
  static __device__ __forceinline__ void load_b_turned(const T* tile, int pitch, OperandB& b) {
    load_halves<false>(tile + detail::row_beside_first(pitch), b);
  }
  template <class Tile>
  static __device__ __forceinline__ void load_b(const Tile& tile, int pitch, OperandB& b) {
    const int group = detail::wave_lane() / 4, member = detail::wave_lane() % 4;
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < registers_b; ++r)
        b.registers[half][r] = gather(tile, per * (member + 4 * r) * pitch + 8 * half + group, pitch);
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) {
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        accumulator.values[half][r] = Sum(0);
  }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
#pragma unroll
    for (int half = 0; half < halves; ++half)
      Instruction::run(a.registers, b.registers[half], accumulator.values[half]);
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
  template <class Change>
  static __device__ __forceinline__ void update(Accumulator& accumulator, Change change) {
    const int group = detail::wave_lane() / 4;
#pragma unroll
    for (int half = 0; half < halves; ++half)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        accumulator.values[half][r] = change(group + 8 * (r / 2), accumulator.values[half][r]);
  }

private:
  template <bool turned, class T>
  static __device__ __forceinline__ void load_halves(const T* row, OperandB& b) {
    uint32_t loaded[4];
    detail::load_matrices<turned>(row, loaded);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b.registers[i / 2][i % 2] = loaded[i];
  }
  // One register: elements `apart` from each other, the first in the lowest bits.
  template <class Tile>
  static __device__ __forceinline__ uint32_t gather(const Tile& tile, int first, int apart) {
    uint32_t bits = 0;
#pragma unroll
    for (int e = 0; e < per; ++e)
      bits |= Instruction::bits(tile[first + e * apart]) << 32 / per * e;
    return bits;
  }
};

} // namespace bitgate

#include "bitgate/fragment_fma.hpp"
