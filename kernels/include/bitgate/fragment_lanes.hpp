// Fragments by one instruction of AMD's matrix cores: a lane holds neighbouring k of one row of A, as many of
// one column of B, and the sums of one column.
//
//   Instruction   operand_type, sum_type   what an operand's and the sums' registers are to the compiler
//                 run(a, b, sums)          a * b + sums
//   Lanes         per_lane                 elements of an operand that a lane holds
//                 first_k(lane)            the k of the first of them; row and column are lane % M
//                 row(lane, r)             of sum r; its column is lane % N
//
// Included by fragment_mfma.hpp and fragment_wmma.hpp.
#pragma once

#include "bitgate/fragment_steps.hpp"

namespace bitgate::detail {

__device__ __forceinline__ int wave_lane() {
  return static_cast<int>(__lane_id());
}

template <class A, class B, int M, int N, int Wave, class Instruction, class Lanes> struct LaneFragment {
  using Sum = typename Number<A>::Accumulator;
  static constexpr int sums = M * N / Wave;
  static_assert(M == N && sizeof(typename Instruction::operand_type) == Lanes::per_lane * sizeof(A));

  struct OperandA {
    A values[Lanes::per_lane];
  };
  struct OperandB {
    B values[Lanes::per_lane];
  };
  struct Accumulator {
    typename Instruction::sum_type values;
  };
  static constexpr int64_t exact_range = exact_range_of<Sum>;

  template <class Work> static __device__ __forceinline__ void together(Work work) { work(); }
  template <class Tile>
  static __device__ __forceinline__ void load_a(const Tile& tile, int pitch, OperandA& a) {
    const int lane = wave_lane(), row = lane % M, first = Lanes::first_k(lane);
#pragma unroll
    for (int e = 0; e < Lanes::per_lane; ++e)
      a.values[e] = tile[row * pitch + first + e];
  }
  template <class Tile>
  static __device__ __forceinline__ void load_b(const Tile& tile, int pitch, OperandB& b) {
    const int lane = wave_lane(), column = lane % N, first = Lanes::first_k(lane);
#pragma unroll
    for (int e = 0; e < Lanes::per_lane; ++e)
      b.values[e] = tile[(first + e) * pitch + column];
  }
  // A turned operand lies as the other one does.
  template <class Tile>
  static __device__ __forceinline__ void load_a_turned(const Tile& tile, int pitch, OperandA& a) {
    const int lane = wave_lane(), row = lane % M, first = Lanes::first_k(lane);
#pragma unroll
    for (int e = 0; e < Lanes::per_lane; ++e)
      a.values[e] = tile[(first + e) * pitch + row];
  }
  template <class Tile>
  static __device__ __forceinline__ void load_b_turned(const Tile& tile, int pitch, OperandB& b) {
    const int lane = wave_lane(), column = lane % N, first = Lanes::first_k(lane);
#pragma unroll
    for (int e = 0; e < Lanes::per_lane; ++e)
      b.values[e] = tile[column * pitch + first + e];
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) { accumulator.values = Sum(0); }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
    using Operand = typename Instruction::operand_type;
    accumulator.values = Instruction::run(bits_as<Operand>(a), bits_as<Operand>(b), accumulator.values);
  }
  template <class Visit>
  static __device__ __forceinline__ void for_each(const Accumulator& accumulator, Visit visit) {
    const int lane = wave_lane(), column = lane % N;
#pragma unroll
    for (int r = 0; r < sums; ++r)
      visit(Lanes::row(lane, r), column, accumulator.values[r]);
  }
  template <class Change>
  static __device__ __forceinline__ void update(Accumulator& accumulator, Change change) {
    const int lane = wave_lane();
#pragma unroll
    for (int r = 0; r < sums; ++r)
      accumulator.values[r] = change(Lanes::row(lane, r), accumulator.values[r]);
  }
};

} // namespace bitgate::detail
