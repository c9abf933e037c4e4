// Fragments on the host: lane 0 does the whole wave's work with AVX2 while the other lanes only count the
// operation, so that the runtime can tell when the lanes of a wave disagree. 16-bit floats are widened as
// they are loaded.
#pragma once

#include <immintrin.h>

#include "bitgate/fragment.hpp"

namespace bitgate {
namespace detail {

inline __m256 widen8(const f16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline __m256 widen8(const bf16* from) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

// A Rows x Columns operand as floats: a widened copy of the tile, or the tile itself where it holds floats.
template <class T, int Rows, int Columns> struct FloatOperand {
  static_assert(Columns % 8 == 0);
  alignas(32) float values[Rows * Columns];

  void load(const T* tile, int pitch) {
    for (int row = 0; row < Rows; ++row)
      for (int column = 0; column < Columns; column += 8)
        _mm256_store_ps(values + row * Columns + column, widen8(tile + row * pitch + column));
  }
  const float* row(int index) const { return values + index * Columns; }
};
template <int Rows, int Columns> struct FloatOperand<float, Rows, Columns> {
  const float* tile;
  int pitch;

  void load(const float* tile_, int pitch_) { tile = tile_, pitch = pitch_; }
  const float* row(int index) const { return tile + index * pitch; }
};

// Four rows and sixteen columns of the accumulator stay in registers over the whole of K. For each cell the
// terms are added in ascending k with fma.
template <int N, int K, class A, class B>
inline void multiply_4x16(const A& a, const B& b, int first_row, int first_column, float* c) {
  __m256 sum[4][2];
  for (int row = 0; row < 4; ++row)
    for (int half = 0; half < 2; ++half)
      sum[row][half] = _mm256_load_ps(c + row * N + 8 * half);
  for (int k = 0; k < K; ++k) {
    const float* terms = b.row(k) + first_column;
    const __m256 left = _mm256_loadu_ps(terms), right = _mm256_loadu_ps(terms + 8);
    for (int row = 0; row < 4; ++row) {
      const __m256 factor = _mm256_broadcast_ss(a.row(first_row + row) + k);
      sum[row][0] = _mm256_fmadd_ps(factor, left, sum[row][0]);
      sum[row][1] = _mm256_fmadd_ps(factor, right, sum[row][1]);
    }
  }
  for (int row = 0; row < 4; ++row)
    for (int half = 0; half < 2; ++half)
      _mm256_store_ps(c + row * N + 8 * half, sum[row][half]);
}

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave> struct Fragment {
  static_assert(M % 4 == 0 && N % 16 == 0);

  using Sum = float;
  using OperandA = detail::FloatOperand<A, M, K>;
  using OperandB = detail::FloatOperand<B, K, N>;
  struct Accumulator {
    alignas(32) float values[M * N];
  };
  static constexpr int64_t exact_range = int64_t{1} << 24;

  template <class Work> static void together(Work work) {
    bitgate_host::wave_op(static_cast<unsigned>(M << 16 | N << 8 | K));
    if (bitgate_host::lane_id() == 0)
      work();
  }
  static void clear(Accumulator& accumulator) {
    for (float& value : accumulator.values)
      value = 0;
  }
  static void load_a(const A* tile, int pitch, OperandA& a) { a.load(tile, pitch); }
  static void load_b(const B* tile, int pitch, OperandB& b) { b.load(tile, pitch); }
  static void multiply(const OperandA& a, const OperandB& b, Accumulator& accumulator) {
    for (int row = 0; row < M; row += 4)
      for (int column = 0; column < N; column += 16)
        detail::multiply_4x16<N, K>(a, b, row, column, accumulator.values + row * N + column);
  }
  template <class Visit> static void for_each(const Accumulator& accumulator, Visit visit) {
    for (int row = 0; row < M; ++row)
      for (int column = 0; column < N; ++column)
        visit(row, column, accumulator.values[row * N + column]);
  }
};

} // namespace bitgate
