// What lane 0 of a wave holds of an operand on the host: the tile in a form that AVX2 multiplies.
#pragma once

#include <immintrin.h>

#include "bitgate/fragment.hpp"

namespace bitgate::detail {

// ---- floats: widened to f32, eight at a time

inline __m256 widen8(const f16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline __m256 widen8(const bf16* from) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}
// As widen (float8.hpp), without branches.
template <class T>
  requires requires { Float8<T>::bias; }
inline __m256 widen8(const T* from) {
  using Format = Float8<T>;
  const auto all = [](int value) { return _mm256_set1_epi32(value); };
  const auto bits_of = [](float value) { return _mm256_set1_epi32(bits_as<int>(value)); };
  const auto choose = [](__m256i no, __m256i yes, __m256i mask) { return _mm256_blendv_epi8(no, yes, mask); };
  const __m256i bits = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  const __m256i code = _mm256_and_si256(bits, all(0x7F));
  const __m256i normal =
      _mm256_add_epi32(_mm256_slli_epi32(code, 23 - Format::mantissa), all((127 - Format::bias) << 23));
  const __m256 smallest = _mm256_set1_ps(power_of_two(1 - Format::bias - Format::mantissa));
  const __m256i subnormal = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(code), smallest));
  const __m256i is_normal = _mm256_cmpgt_epi32(code, all((1 << Format::mantissa) - 1));
  __m256i magnitude = choose(subnormal, normal, is_normal);
  if constexpr (Format::infinite)
    magnitude = choose(magnitude, bits_of(HUGE_VALF), _mm256_cmpeq_epi32(code, all(Format::largest + 1)));
  const __m256i is_nan = Format::fnuz ? _mm256_cmpeq_epi32(bits, all(Format::nan))
                                      : _mm256_cmpgt_epi32(code, all(Format::largest + Format::infinite));
  magnitude = choose(magnitude, all(0x7FC00000), is_nan);
  const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(bits, all(0x80)), 24);
  return _mm256_castsi256_ps(_mm256_or_si256(magnitude, sign));
}

// A Rows x Columns operand as floats, whatever they were: its multiplication is compiled once for all types.
template <int Rows, int Columns> struct WidenedOperand {
  alignas(32) float values[Rows * Columns];

  const float* row(int index) const { return values + index * Columns; }
};
template <class T, int Rows, int Columns> struct FloatOperand : WidenedOperand<Rows, Columns> {
  static_assert(Columns % 8 == 0);
  using Widened = WidenedOperand<Rows, Columns>;

  void load(const T* tile, int pitch) {
    for (int row = 0; row < Rows; ++row)
      for (int column = 0; column < Columns; column += 8)
        _mm256_store_ps(this->values + row * Columns + column, widen8(tile + row * pitch + column));
  }
  // Of a Columns x Rows tile.
  void load_turned(const T* tile, int pitch) {
    for (int column = 0; column < Columns; ++column)
      for (int row = 0; row < Rows; row += 8) {
        alignas(32) float wide[8];
        _mm256_store_ps(wide, widen8(tile + column * pitch + row));
        for (int i = 0; i < 8; ++i)
          this->values[(row + i) * Columns + column] = wide[i];
      }
  }
};
// Where the tile holds floats it is multiplied in its place.
template <int Rows, int Columns> struct FloatOperand<float, Rows, Columns> {
  using Widened = FloatOperand;
  const float* tile;
  int pitch;

  void load(const float* tile_, int pitch_) { tile = tile_, pitch = pitch_; }
  const float* row(int index) const { return tile + index * pitch; }
};

// ---- i8: widened to 16 bits, in pairs along k, of which one instruction multiplies eight

template <int M, int K> struct PairsAlongRows {
  static_assert(K % 16 == 0);
  using Widened = PairsAlongRows;
  alignas(32) int16_t values[M * K];

  void load(const int8_t* tile, int pitch) {
    for (int row = 0; row < M; ++row)
      for (int k = 0; k < K; k += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile + row * pitch + k));
        _mm256_store_si256(reinterpret_cast<__m256i*>(values + row * K + k), _mm256_cvtepi8_epi16(bytes));
      }
  }
  // Elements k and k + 1 of a row.
  int pair(int row, int k) const {
    int both;
    __builtin_memcpy(&both, values + row * K + k, sizeof both);
    return both;
  }
};

template <int K, int N> struct PairsAlongColumns {
  static_assert(K % 2 == 0 && N % 8 == 0);
  using Widened = PairsAlongColumns;
  alignas(32) int16_t values[K * N]; // rows k and k + 1, interleaved

  void load(const int8_t* tile, int pitch) {
    for (int k = 0; k < K; k += 2)
      for (int column = 0; column < N; column += 8) {
        const int8_t* from = tile + k * pitch + column;
        const __m128i even = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        const __m128i odd = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + pitch));
        _mm256_store_si256(reinterpret_cast<__m256i*>(values + k * N + 2 * column),
                           _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(even, odd)));
      }
  }
  // Rows k and k + 1, for an even k.
  const int16_t* pairs(int k) const { return values + k * N; }
};

template <class T, int M, int K> struct HostOperandA : FloatOperand<T, M, K> {};
template <int M, int K> struct HostOperandA<int8_t, M, K> : PairsAlongRows<M, K> {};
template <class T, int K, int N> struct HostOperandB : FloatOperand<T, K, N> {};
template <int K, int N> struct HostOperandB<int8_t, K, N> : PairsAlongColumns<K, N> {};

} // namespace bitgate::detail
