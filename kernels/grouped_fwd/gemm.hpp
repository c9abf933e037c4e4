// Grouped convolution, forward, multiple D: y[g,n,k,o] = op( sum_{f,c} x[g,n,c,i] * w[g,k,c,f], d[g,n,k,o] )
// as an implicit GEMM (geometry.hpp): rows are (image, output position), columns are output channels k, and
// the reduction runs over taps f and input channels c.
//
// One block computes one Tile::M x Tile::N tile; blockIdx.y is the group, blockIdx.z the chunk of images. For
// each Tile::K terms of the reduction the block loads a tile of x (A) and of w (B) into LDS, then its waves
// multiply fragments. At the end the sums go through LDS, so that y is written in vectors along k. Every cell
// of y is written.
//
// Needs: unit stride of c in x and w and of k in y; C a multiple of Vector::A and Vector::B, K of Vector::C;
// vectors aligned; what the specialisation asserts (dispatch.hpp checks). Rows past M, k past K, c past C and
// x cells in the padding are loaded as zeros. Offsets are 64-bit.
#pragma once

#include "bitgate/implicit_gemm/sums.hpp"
#include "geometry.hpp"

namespace grouped_fwd {

using namespace bitgate::implicit_gemm;

// An instance: a tiling, and what it may take for granted.
template <Specialisation special_, class Tiling_> struct Variant : Tiling_ {
  static constexpr Specialisation special = special_;
  // Threads read w as it lies in memory, rows k and vectors along c, and turn it on its way to LDS.
  using CoverB = Cover<Tiling_::Tile::N, Tiling_::Tile::K, Tiling_::Vector::B, Tiling_::block>;
  static_assert(special != Specialisation::odd_c || (Tiling_::Vector::A == 1 && Tiling_::Vector::B == 1),
                "a vector of the merged reduction would straddle taps");
};

// The place of one block: which tile of which group and chunk.
struct Place {
  int64_t first_row;
  int32_t first_column;
  int32_t first_image;
  int group;
  int thread;
};

template <class Variant> __device__ __forceinline__ Place place_of_block(const Geometry& geometry) {
  const auto block = static_cast<int>(blockIdx.x);
  const int column_blocks = (geometry.k + Variant::Tile::N - 1) / Variant::Tile::N;
  const auto chunk = static_cast<int32_t>(blockIdx.z);
  return {static_cast<int64_t>(block / column_blocks) * Variant::Tile::M,
          block % column_blocks * Variant::Tile::N, chunk * geometry.images, static_cast<int>(blockIdx.y),
          static_cast<int>(threadIdx.x)};
}

// What a thread keeps of the rows of A that it loads, computed once: where their x cells lie at tap 0.
template <class Variant> struct RowsOfA {
  struct {
    int64_t offset;
    int32_t cell[axes];
    bool inside;
  } row[Variant::CoverA::passes];
};

template <class Variant>
BITGATE_HD __forceinline__ RowsOfA<Variant> rows_of_a(const Geometry& geometry, const Place& place) {
  using Cover = typename Variant::CoverA;
  RowsOfA<Variant> rows;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    auto& row = rows.row[pass];
    const int64_t m = place.first_row + Cover::row(place.thread, pass);
    row.inside = m < rows_of(geometry);
    const Row at = row_at(geometry, row.inside ? m : 0);
    row.offset = place.group * geometry.x.group + (place.first_image + at.image) * geometry.x.row;
    for (int axis = 0; axis < axes; ++axis) {
      row.cell[axis] = input_at<Variant::special>(geometry.axis[axis], at.position[axis]);
      row.offset += row.cell[axis] * geometry.x.spatial[axis];
    }
  }
  return rows;
}

// The rows' x cells at one tap: their addresses at c = 0, null where the tap falls into the padding.
template <class Variant> struct CellsOfA {
  const typename Variant::ElementA* cell[Variant::CoverA::passes];
};

template <class Variant>
BITGATE_HD __forceinline__ CellsOfA<Variant> cells_of_a(const typename Variant::ElementA* x,
                                                        const Geometry& geometry,
                                                        const RowsOfA<Variant>& rows, const Tap& tap) {
  CellsOfA<Variant> cells;
  for (int pass = 0; pass < Variant::CoverA::passes; ++pass) {
    const auto& row = rows.row[pass];
    bool inside = row.inside;
    if constexpr (!is_pointwise(Variant::special))
      for (int axis = 0; axis < axes; ++axis) {
        const int32_t i = row.cell[axis] + tap.shift[axis];
        inside = inside && i >= 0 && i < geometry.axis[axis].input;
      }
    cells.cell[pass] = inside ? x + (row.offset + tap.x_offset) : nullptr;
  }
  return cells;
}

// A tile: the thread's vector at channel c of its rows, zeros outside.
template <class Variant>
BITGATE_HD __forceinline__ void load_a(const CellsOfA<Variant>& cells, int32_t c, bool c_inside, int thread,
                                       typename Variant::FactorA* tile) {
  using Cover = typename Variant::CoverA;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const auto* cell = cells.cell[pass];
    ChunkOf<typename Variant::FactorA, Variant::Vector::A> chunk{};
    if (cell != nullptr && c_inside)
      chunk = read_factors<typename Variant::FactorA, Variant::Vector::A>(cell + c);
    write_chunk(tile + Cover::row(thread, pass) * Variant::pitch_a + Cover::column(thread), chunk);
  }
}

// B tile: the thread's vector at channel c of one tap for its rows k, zeros outside; the tile has a column
// for each k.
template <class Variant>
BITGATE_HD __forceinline__ void load_b(const typename Variant::ElementB* w_tap, const Geometry& geometry,
                                       int32_t c, bool c_inside, const Place& place,
                                       typename Variant::FactorB* tile) {
  using Cover = typename Variant::CoverB;
  struct Elements {
    typename Variant::FactorB at[Variant::Vector::B];
  };
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int column = Cover::row(place.thread, pass);
    const int32_t k = place.first_column + column;
    ChunkOf<typename Variant::FactorB, Variant::Vector::B> chunk{};
    if (c_inside && k < geometry.k)
      chunk = read_factors<typename Variant::FactorB, Variant::Vector::B>(w_tap + k * geometry.w.row + c);
    const auto elements = bitgate::bits_as<Elements>(chunk);
    for (int i = 0; i < Variant::Vector::B; ++i)
      tile[(Cover::column(place.thread) + i) * Variant::pitch_b + column] = elements.at[i];
  }
}

// sums += the loaded tiles' product. All threads of the block load before and may load again after.
template <class Variant>
__device__ __forceinline__ void multiply_tiles(const typename Variant::Operands& tiles, int thread,
                                               Sums<Variant>& sums) {
  __syncthreads(); // tiles are complete
  compute<Variant>(tiles, thread, sums);
  __syncthreads(); // tiles are free again
}

// The reduction tap by tap, channels in steps of Tile::K.
template <class Variant>
__device__ __forceinline__ void sum_by_taps(const typename Variant::ElementA* x,
                                            const typename Variant::ElementB* w_group,
                                            const Geometry& geometry, const Place& place,
                                            typename Variant::Operands& tiles, Sums<Variant>& sums) {
  const RowsOfA<Variant> rows = rows_of_a<Variant>(geometry, place);
  const int column_a = Variant::CoverA::column(place.thread),
            column_b = Variant::CoverB::column(place.thread);
  const auto taps = [&](int axis) { return is_pointwise(Variant::special) ? 1 : geometry.axis[axis].filter; };
  int32_t f[axes];
  for (f[0] = 0; f[0] < taps(0); ++f[0])
    for (f[1] = 0; f[1] < taps(1); ++f[1])
      for (f[2] = 0; f[2] < taps(2); ++f[2]) {
        const Tap tap = tap_at(geometry, f);
        const CellsOfA<Variant> cells = cells_of_a<Variant>(x, geometry, rows, tap);
        for (int32_t c = 0; c < geometry.c; c += Variant::Tile::K) {
          const int32_t c_a = c + column_a, c_b = c + column_b;
          load_a<Variant>(cells, c_a, c_a < geometry.c, place.thread, tiles.a);
          load_b<Variant>(w_group + tap.w_offset, geometry, c_b, c_b < geometry.c, place, tiles.b);
          multiply_tiles<Variant>(tiles, place.thread, sums);
        }
      }
}

// The reduction in steps of Tile::K over taps and channels together: a tile may hold several taps.
template <class Variant>
__device__ __forceinline__ void sum_merged(const typename Variant::ElementA* x,
                                           const typename Variant::ElementB* w_group,
                                           const Geometry& geometry, const Place& place,
                                           typename Variant::Operands& tiles, Sums<Variant>& sums) {
  const RowsOfA<Variant> rows = rows_of_a<Variant>(geometry, place);
  const int column_a = Variant::CoverA::column(place.thread),
            column_b = Variant::CoverB::column(place.thread);
  const int32_t terms = geometry.c * taps_of(geometry);
  for (int32_t r = 0; r < terms; r += Variant::Tile::K) {
    const Term a = term_at(geometry, r + column_a), b = term_at(geometry, r + column_b);
    const CellsOfA<Variant> cells = cells_of_a<Variant>(x, geometry, rows, tap_at(geometry, a.f));
    load_a<Variant>(cells, a.c, a.inside, place.thread, tiles.a);
    load_b<Variant>(w_group + tap_at(geometry, b.f).w_offset, geometry, b.c, b.inside, place, tiles.b);
    multiply_tiles<Variant>(tiles, place.thread, sums);
  }
}

// The tile of sums, through the element-wise operation, to y.
template <class Variant>
__device__ __forceinline__ void epilogue(const typename Variant::Sum* tile, const Geometry& geometry,
                                         const Place& place, const typename Variant::ElementC* d,
                                         typename Variant::ElementC* y) {
  using Cover = typename Variant::CoverC;
  const int column = Cover::column(place.thread);
  const int32_t k = place.first_column + column;
  if (k >= geometry.k)
    return;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int row = Cover::row(place.thread, pass);
    const int64_t m = place.first_row + row;
    if (m >= rows_of(geometry))
      continue;
    const Row at = row_at(geometry, m);
    const int64_t image = place.first_image + at.image;
    int64_t y_offset = place.group * geometry.y.group + image * geometry.y.row;
    int64_t d_offset = place.group * geometry.d.group + image * geometry.d.row;
    for (int axis = 0; axis < axes; ++axis) {
      y_offset += at.position[axis] * geometry.y.spatial[axis];
      d_offset += at.position[axis] * geometry.d.spatial[axis];
    }
    typename Variant::ElementC values[Variant::Vector::C];
    for (int i = 0; i < Variant::Vector::C; ++i)
      values[i] = bitgate::finish(tile[row * Variant::pitch_c + column + i], geometry.op,
                                  d + d_offset + (k + i) * geometry.d.column);
    write_chunk(y + y_offset + k, bitgate::bits_as<Chunk<sizeof values>>(values));
  }
}

template <class Variant>
__global__ void __launch_bounds__(Variant::block)
    kernel_fwd(const typename Variant::ElementA* x, const typename Variant::ElementB* w,
               const typename Variant::ElementC* d, typename Variant::ElementC* y, Geometry geometry) {
  using Lds = typename Variant::Lds;
  BITGATE_LDS(Lds, lds);
  const Place place = place_of_block<Variant>(geometry);
  const auto* w_group = w + place.group * geometry.w.group;

  Sums<Variant> sums;
  clear<Variant>(sums);
  if constexpr (Variant::special == Specialisation::odd_c)
    sum_merged<Variant>(x, w_group, geometry, place, lds.operands, sums);
  else
    sum_by_taps<Variant>(x, w_group, geometry, place, lds.operands, sums);
  store_sums<Variant>(sums, place.thread, lds.c);
  __syncthreads(); // sums are complete
  epilogue<Variant>(lds.c, geometry, place, d, y);
}

} // namespace grouped_fwd
