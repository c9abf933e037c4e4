// The arithmetic between the tiles in LDS and the sums in LDS: what the waves of a block do with their
// fragments.
#pragma once

#include "bitgate/implicit_gemm/tiling.hpp"

namespace bitgate::implicit_gemm {

// The sums of one wave.
template <class Tiling> struct Sums {
  typename Tiling::Fragment::Accumulator fragment[Tiling::repeat_m][Tiling::repeat_n];
};

// Where the calling thread's wave stands in the block tile.
template <class Tiling> BITGATE_HD __forceinline__ int wave_row(int thread) {
  return thread / Tiling::wave / Tiling::waves_n * Tiling::wave_m;
}
template <class Tiling> BITGATE_HD __forceinline__ int wave_column(int thread) {
  return thread / Tiling::wave % Tiling::waves_n * Tiling::wave_n;
}

template <class Tiling> __device__ __forceinline__ void clear(Sums<Tiling>& sums) {
  Tiling::Fragment::together([&sums] {
    for (auto& row : sums.fragment)
      for (auto& fragment : row)
        Tiling::Fragment::clear(fragment);
  });
}

// The operands of a fragment out of the tiles, however these lie.
template <class Tiling>
__device__ __forceinline__ void load_rows(const typename Tiling::FactorA* tile, int row, int k,
                                          typename Tiling::Fragment::OperandA& a) {
  if constexpr (Tiling::turned_a)
    Tiling::Fragment::load_a_turned(tile + k * Tiling::pitch_a + row, Tiling::pitch_a, a);
  else
    Tiling::Fragment::load_a(tile + row * Tiling::pitch_a + k, Tiling::pitch_a, a);
}
template <class Tiling>
__device__ __forceinline__ void load_columns(const typename Tiling::FactorB* tile, int k, int column,
                                             typename Tiling::Fragment::OperandB& b) {
  if constexpr (Tiling::turned_b)
    Tiling::Fragment::load_b_turned(tile + column * Tiling::pitch_b + k, Tiling::pitch_b, b);
  else
    Tiling::Fragment::load_b(tile + k * Tiling::pitch_b + column, Tiling::pitch_b, b);
}

// Fragments along k that a wave takes at once. On gfx11 a lane holds twice as many elements of each operand.
#if defined(BITGATE_WMMA) && BITGATE_WMMA == 11
inline constexpr int rounds_of_k = 1;
#else
inline constexpr int rounds_of_k = 2;
#endif

// sums += A tile * B tile, fragment by fragment: to be done, of tiles and sums that last until then.
template <class Tiling>
__device__ __forceinline__ auto product(const typename Tiling::Operands& tiles, int thread,
                                        Sums<Tiling>& sums) {
  using Fragment = typename Tiling::Fragment;
  using Extent = typename Tiling::FragmentExtent;
  return together<Fragment>([&tiles, thread, &sums] {
    const int first_row = wave_row<Tiling>(thread), first_column = wave_column<Tiling>(thread);
    BITGATE_UNROLL(rounds_of_k)
    for (int k = 0; k < Tiling::Tile::K; k += Extent::K) {
      typename Fragment::OperandA rows[Tiling::repeat_m];
      for (int i = 0; i < Tiling::repeat_m; ++i)
        load_rows<Tiling>(tiles.a, first_row + i * Extent::M, k, rows[i]);
      for (int j = 0; j < Tiling::repeat_n; ++j) {
        typename Fragment::OperandB columns;
        load_columns<Tiling>(tiles.b, k, first_column + j * Extent::N, columns);
        for (int i = 0; i < Tiling::repeat_m; ++i)
          Fragment::multiply(rows[i], columns, sums.fragment[i][j]);
      }
    }
  });
}
template <class Tiling>
__device__ __forceinline__ void compute(const typename Tiling::Operands& tiles, int thread,
                                        Sums<Tiling>& sums) {
  product<Tiling>(tiles, thread, sums)();
}

// What a wave multiplies of one fragment's k.
template <class Tiling> struct Factors {
  typename Tiling::Fragment::OperandA rows[Tiling::repeat_m];
  typename Tiling::Fragment::OperandB columns[Tiling::repeat_n];
};

template <class Tiling>
__device__ __forceinline__ void load_factors(const typename Tiling::Operands& tiles, int k, int thread,
                                             Factors<Tiling>& factors) {
  using Extent = typename Tiling::FragmentExtent;
  for (int i = 0; i < Tiling::repeat_m; ++i)
    load_rows<Tiling>(tiles.a, wave_row<Tiling>(thread) + i * Extent::M, k, factors.rows[i]);
  for (int j = 0; j < Tiling::repeat_n; ++j)
    load_columns<Tiling>(tiles.b, k, wave_column<Tiling>(thread) + j * Extent::N, factors.columns[j]);
}
template <class Tiling>
__device__ __forceinline__ void multiply_factors(const Factors<Tiling>& factors, Sums<Tiling>& sums) {
  for (int i = 0; i < Tiling::repeat_m; ++i)
    for (int j = 0; j < Tiling::repeat_n; ++j)
      Tiling::Fragment::multiply(factors.rows[i], factors.columns[j], sums.fragment[i][j]);
}

// The sums of the waves whose rows belong to a round, as one tile of Tiling::rows rows in LDS.
template <class Tiling>
__device__ __forceinline__ void store_sums(const Sums<Tiling>& sums, int round, int thread,
                                           typename Tiling::Sum* tile) {
  using Fragment = typename Tiling::Fragment;
  using Extent = typename Tiling::FragmentExtent;
  using Sum = typename Tiling::Sum;
  static_assert(sizeof(typename Tiling::Lds) <= lds_bytes_here, "LDS of one block");
  const int row_of_wave = wave_row<Tiling>(thread) - round * Tiling::rows;
  const bool is_mine = Tiling::rounds == 1 || (row_of_wave >= 0 && row_of_wave < Tiling::rows);
  Sum* corner = tile + (is_mine ? row_of_wave : 0) * Tiling::pitch_c + wave_column<Tiling>(thread);
  Fragment::together([&] {
    if (!is_mine)
      return;
    for (int i = 0; i < Tiling::repeat_m; ++i)
      for (int j = 0; j < Tiling::repeat_n; ++j) {
        Sum* fragment = corner + i * Extent::M * Tiling::pitch_c + j * Extent::N;
        Fragment::for_each(sums.fragment[i][j], [fragment](int row, int column, Sum value) {
          fragment[row * Tiling::pitch_c + column] = value;
        });
      }
  });
}

} // namespace bitgate::implicit_gemm
