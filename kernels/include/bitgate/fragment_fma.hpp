// f32 fragments of waves of 32 lanes without a matrix instruction: MxNx4 by fma, each product and sum rounded
// once, k ascending. Lane l sums column l % 16 of rows M / 2 * (l / 16) and the M / 2 - 1 that follow.
//
// Included by the platforms' fragment headers, which define detail::wave_lane().
#pragma once

#include "bitgate/fragment.hpp"

namespace bitgate {

template <int M, int N, int K> struct Fragment<float, float, M, N, K, 32> {
  using Sum = float;
  static_assert(N == 16 && M % 2 == 0);
  static constexpr int rows = M / 2; // two half-waves share the rows

  struct OperandA {
    float values[rows][K];
  };
  struct OperandB {
    float values[K];
  };
  struct Accumulator {
    float values[rows];
  };
  static constexpr int64_t exact_range = int64_t{1} << 24;

  template <class Work> static __device__ __forceinline__ void together(Work work) { work(); }
  static __device__ __forceinline__ int first_row() { return detail::wave_lane() / N * rows; }
  static __device__ __forceinline__ int column() { return detail::wave_lane() % N; }

  static __device__ __forceinline__ void load_a(const float* tile, int pitch, OperandA& a) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int k = 0; k < K; ++k)
        a.values[row][k] = tile[(first_row() + row) * pitch + k];
  }
  static __device__ __forceinline__ void load_b(const float* tile, int pitch, OperandB& b) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      b.values[k] = tile[k * pitch + column()];
  }
  static __device__ __forceinline__ void clear(Accumulator& accumulator) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
      accumulator.values[row] = 0.0f;
  }
  static __device__ __forceinline__ void multiply(const OperandA& a, const OperandB& b,
                                                  Accumulator& accumulator) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
#pragma unroll
      for (int k = 0; k < K; ++k)
        accumulator.values[row] = fmaf(a.values[row][k], b.values[k], accumulator.values[row]);
  }
  template <class Visit>
  static __device__ __forceinline__ void for_each(const Accumulator& accumulator, Visit visit) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
      visit(first_row() + row, column(), accumulator.values[row]);
  }
  template <class Change>
  static __device__ __forceinline__ void update(Accumulator& accumulator, Change change) {
#pragma unroll
    for (int row = 0; row < rows; ++row)
      accumulator.values[row] = change(first_row() + row, accumulator.values[row]);
  }
};

} // namespace bitgate
