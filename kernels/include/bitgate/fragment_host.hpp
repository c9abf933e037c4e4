// Fragments on the host: lane 0 does the whole wave's work with AVX2 while the other lanes only count the
// operation, so that the runtime can tell when the lanes of a wave disagree. 16-bit floats are widened as
// they are loaded.
#pragma once

#include <immintrin.h>

#include "bitgate/fragment.hpp"

namespace bitgate {
namespace detail {

inline bool leads_wave() {
  return bitgate_host::lane_id() == 0;
}

// The other lanes hold nothing. Said to the compiler, which would warn of values never set.
template <class Values> void leave_unset(Values& values) {
  __asm__("" : "=m"(values));
}

inline __m256 widen8(const float* from) {
  return _mm256_loadu_ps(from);
}
inline __m256 widen8(const f16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline __m256 widen8(const bf16* from) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}

// A Rows x Columns tile as floats, without gaps.
template <class T, int Rows, int Columns> void widen_tile(const T* tile, int pitch, float* to) {
  for (int row = 0; row < Rows; ++row, tile += pitch, to += Columns) {
    if constexpr (Columns % 8 == 0) {
      for (int column = 0; column < Columns; column += 8)
        _mm256_store_ps(to + column, widen8(tile + column));
    } else {
      for (int column = 0; column < Columns; ++column)
        to[column] = Number<T>::widen(tile[column]);
    }
  }
}

// Four rows and sixteen columns of the accumulator stay in registers over the whole of K. For each cell the
// terms are added in ascending k with fma.
template <int N, int K> inline void multiply_4x16(const float* a, const float* b, float* c) {
  __m256 sum[4][2];
  for (int row = 0; row < 4; ++row)
    for (int half = 0; half < 2; ++half)
      sum[row][half] = _mm256_load_ps(c + row * N + 8 * half);
  for (int k = 0; k < K; ++k) {
    const __m256 left = _mm256_load_ps(b + k * N), right = _mm256_load_ps(b + k * N + 8);
    for (int row = 0; row < 4; ++row) {
      const __m256 factor = _mm256_broadcast_ss(a + row * K + k);
      sum[row][0] = _mm256_fmadd_ps(factor, left, sum[row][0]);
      sum[row][1] = _mm256_fmadd_ps(factor, right, sum[row][1]);
    }
  }
  for (int row = 0; row < 4; ++row)
    for (int half = 0; half < 2; ++half)
      _mm256_store_ps(c + row * N + 8 * half, sum[row][half]);
}

} // namespace detail

template <class T, int M, int N, int K, int Wave> struct Fragment {
  static_assert(M % 4 == 0 && N % 16 == 0);

  struct OperandA {
    alignas(32) float values[M * K];
  };
  struct OperandB {
    alignas(32) float values[K * N];
  };
  struct Accumulator {
    alignas(32) float values[M * N];
  };
  static constexpr int64_t exact_range = int64_t{1} << 24;

  static void load_a(const T* tile, int pitch, OperandA& a) {
    if (detail::leads_wave())
      detail::widen_tile<T, M, K>(tile, pitch, a.values);
    else
      detail::leave_unset(a.values);
  }
  static void load_b(const T* tile, int pitch, OperandB& b) {
    if (detail::leads_wave())
      detail::widen_tile<T, K, N>(tile, pitch, b.values);
    else
      detail::leave_unset(b.values);
  }
  static void clear(Accumulator& accumulator) {
    if (!detail::leads_wave())
      return detail::leave_unset(accumulator.values);
    for (float& value : accumulator.values)
      value = 0;
  }
  static void multiply(const OperandA& a, const OperandB& b, Accumulator& accumulator) {
    bitgate_host::wave_op(static_cast<unsigned>(M << 16 | N << 8 | K));
    if (!detail::leads_wave())
      return;
    for (int row = 0; row < M; row += 4)
      for (int column = 0; column < N; column += 16)
        detail::multiply_4x16<N, K>(a.values + row * K, b.values + column,
                                    accumulator.values + row * N + column);
  }
  template <class Visit> static void for_each(const Accumulator& accumulator, Visit visit) {
    if (!detail::leads_wave())
      return;
    for (int row = 0; row < M; ++row)
      for (int column = 0; column < N; ++column)
        visit(row, column, accumulator.values[row * N + column]);
  }
};

} // namespace bitgate
