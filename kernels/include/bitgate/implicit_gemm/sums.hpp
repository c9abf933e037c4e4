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

// sums += A tile * B tile, fragment by fragment.
template <class Tiling>
__device__ __forceinline__ void compute(const typename Tiling::Operands& tiles, int thread,
                                        Sums<Tiling>& sums) {
  using Fragment = typename Tiling::Fragment;
  using Extent = typename Tiling::FragmentExtent;
  const auto* a = tiles.a + wave_row<Tiling>(thread) * Tiling::pitch_a;
  const auto* b = tiles.b + wave_column<Tiling>(thread);
  Fragment::together([a, b, &sums] {
    BITGATE_UNROLL(2)
    for (int k = 0; k < Tiling::Tile::K; k += Extent::K) {
      typename Fragment::OperandA rows[Tiling::repeat_m];
      for (int i = 0; i < Tiling::repeat_m; ++i)
        Fragment::load_a(a + i * Extent::M * Tiling::pitch_a + k, Tiling::pitch_a, rows[i]);
      for (int j = 0; j < Tiling::repeat_n; ++j) {
        typename Fragment::OperandB columns;
        Fragment::load_b(b + k * Tiling::pitch_b + j * Extent::N, Tiling::pitch_b, columns);
        for (int i = 0; i < Tiling::repeat_m; ++i)
          Fragment::multiply(rows[i], columns, sums.fragment[i][j]);
      }
    }
  });
}

// The sums of all waves, as one tile in LDS.
template <class Tiling>
__device__ __forceinline__ void store_sums(const Sums<Tiling>& sums, int thread, typename Tiling::Sum* tile) {
  using Fragment = typename Tiling::Fragment;
  using Extent = typename Tiling::FragmentExtent;
  using Sum = typename Tiling::Sum;
  static_assert(sizeof(typename Tiling::Lds) <= BITGATE_LDS_BYTES, "LDS of one block");
  Sum* corner = tile + wave_row<Tiling>(thread) * Tiling::pitch_c + wave_column<Tiling>(thread);
  Fragment::together([corner, &sums] {
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
