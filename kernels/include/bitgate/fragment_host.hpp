// Fragments on the host: lane 0 does the whole wave's work with AVX2 while the other lanes only count the
// operation, so that the runtime can tell when the lanes of a wave disagree. Floats are widened to f32 as
// they are loaded, i8 to 16 bits (fragment_host_operands.hpp).
#pragma once

#include "bitgate/fragment_host_operands.hpp"

namespace bitgate {
namespace detail {

// Four rows and sixteen columns of the accumulator stay in registers over the whole of K, which takes loops
// that are unrolled. For each cell the terms are added in ascending k with fma.
template <int N, int K, class A, class B>
inline void multiply_4x16(const A& a, const B& b, int first_row, int first_column, float* c) {
  __m256 sum[4][2];
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      sum[row][half] = _mm256_load_ps(c + row * N + 8 * half);
  for (int k = 0; k < K; ++k) {
    const float* terms = b.row(k) + first_column;
    const __m256 left = _mm256_loadu_ps(terms), right = _mm256_loadu_ps(terms + 8);
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      const __m256 factor = _mm256_broadcast_ss(a.row(first_row + row) + k);
      sum[row][0] = _mm256_fmadd_ps(factor, left, sum[row][0]);
      sum[row][1] = _mm256_fmadd_ps(factor, right, sum[row][1]);
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      _mm256_store_ps(c + row * N + 8 * half, sum[row][half]);
}

// The same for i8, two k at a time: each product of the pair is exact, and sums wrap modulo 2^32.
template <int N, int K, class A, class B>
inline void multiply_4x16(const A& a, const B& b, int first_row, int first_column, int32_t* c) {
  const auto at = [c](int row, int half) { return reinterpret_cast<__m256i*>(c + row * N + 8 * half); };
  __m256i sum[4][2];
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      sum[row][half] = _mm256_load_si256(at(row, half));
  for (int k = 0; k < K; k += 2) {
    const auto* terms = reinterpret_cast<const __m256i*>(b.pairs(k) + 2 * first_column);
    const __m256i left = _mm256_load_si256(terms), right = _mm256_load_si256(terms + 1);
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      const __m256i factors = _mm256_set1_epi32(a.pair(first_row + row, k));
      sum[row][0] = _mm256_add_epi32(_mm256_madd_epi16(factors, left), sum[row][0]);
      sum[row][1] = _mm256_add_epi32(_mm256_madd_epi16(factors, right), sum[row][1]);
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      _mm256_store_si256(at(row, half), sum[row][half]);
}

template <int M, int N, int K, class A, class B, class Sum>
BITGATE_SHARED_PART void multiply_fragment(const A& a, const B& b, Sum* c) {
  for (int row = 0; row < M; row += 4)
    for (int column = 0; column < N; column += 16)
      multiply_4x16<N, K>(a, b, row, column, c + row * N + column);
}

} // namespace detail

template <class A, class B, int M, int N, int K, int Wave> struct Fragment {
  static_assert(M % 4 == 0 && N % 16 == 0);

  using Sum = typename Number<A>::Accumulator;
  using OperandA = detail::HostOperandA<A, M, K>;
  using OperandB = detail::HostOperandB<B, K, N>;
  struct Accumulator {
    alignas(32) Sum values[M * N];
  };
  static constexpr int64_t exact_range = exact_range_of<Sum>;

  template <class Work> static void together(Work work) {
    bitgate_host::wave_op(static_cast<unsigned>(M << 16 | N << 8 | K));
    if (bitgate_host::lane_id() == 0)
      work();
  }
  static void clear(Accumulator& accumulator) {
    for (Sum& value : accumulator.values)
      value = 0;
  }
  static void load_a(const A* tile, int pitch, OperandA& a) { a.load(tile, pitch); }
  static void load_b(const B* tile, int pitch, OperandB& b) { b.load(tile, pitch); }
  static void load_a_turned(const A* tile, int pitch, OperandA& a) { a.load_turned(tile, pitch); }
  static void load_b_turned(const B* tile, int pitch, OperandB& b) { b.load_turned(tile, pitch); }
  static void multiply(const OperandA& a, const OperandB& b, Accumulator& accumulator) {
    const typename OperandA::Widened& rows = a;
    const typename OperandB::Widened& columns = b;
    detail::multiply_fragment<M, N, K>(rows, columns, accumulator.values);
  }
  template <class Visit> static void for_each(const Accumulator& accumulator, Visit visit) {
    for (int row = 0; row < M; ++row)
      for (int column = 0; column < N; ++column)
        visit(row, column, accumulator.values[row * N + column]);
  }
  template <class Change> static void update(Accumulator& accumulator, Change change) {
    for (int row = 0; row < M; ++row)
      for (int column = 0; column < N; ++column) {
        Sum& value = accumulator.values[row * N + column];
        value = change(row, value);
      }
  }
};

// Two barriers with nothing but waves' work between them are one meeting of the threads, which costs more
// than the work.
template <class Fragment, class Work>
void in_turn(const Barrier&, const Together<Fragment, Work>& together, const Barrier& second) {
  if (bitgate_host::sync_for_work(together.work))
    return;
  together();
  second();
}

} // namespace bitgate
