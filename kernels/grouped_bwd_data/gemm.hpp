// Grouped convolution, backward data, multiple D: dx[g,n,c,i] = op( sum_{k,f} dy[g,n,k,o] * w[g,k,c,f],
// d[g,n,c,i] ) as implicit GEMMs (geometry.hpp): rows are (image, window position), columns are input
// channels c, and the reduction runs over the taps of the sub-GEMM's class and, within a tap, over output
// channels k.
//
// One block computes one Tile::M x Tile::N tile of one sub-GEMM; blockIdx.y is the group. For each tap and
// each Tile::K channels the block loads a tile of dy (A) and of w (B) into LDS, then its waves multiply
// fragments. At the end the sums go through LDS, so that dx is written in vectors along c.
//
// Needs: unit stride of k in dy and of c in w and dx; K a multiple of Vector::A, C of Vector::B and
// Vector::C; vectors aligned (dispatch.hpp checks). Rows past M, k past K, c past C and dy cells outside the
// output are loaded as zeros; dx cells outside the image are not written. Offsets are 64-bit.
#pragma once

#include "bitgate/implicit_gemm/sums.hpp"
#include "geometry.hpp"

namespace grouped_bwd_data {

using namespace bitgate::implicit_gemm;

// The place of one block: which tile of which sub-GEMM.
struct Place {
  int64_t first_row;
  int32_t first_column;
  int group;
  int thread;
};

// What a thread keeps of the rows of A that it loads, computed once: where their dy cells lie at tap 0.
template <class Tiling> struct RowsOfA {
  struct {
    int64_t offset;
    int32_t position[axes];
    bool inside;
  } row[Tiling::CoverA::passes];
};

template <class Tiling>
BITGATE_HD __forceinline__ RowsOfA<Tiling> rows_of_a(const Geometry& geometry, const Place& place) {
  using Cover = typename Tiling::CoverA;
  RowsOfA<Tiling> rows;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    auto& row = rows.row[pass];
    const int64_t m = place.first_row + Cover::row(place.thread, pass);
    row.inside = m < rows_of(geometry);
    const Row at = row_at(geometry, row.inside ? m : 0);
    row.offset = place.group * geometry.dy.group + at.image * geometry.dy.row;
    for (int axis = 0; axis < axes; ++axis) {
      row.position[axis] = at.position[axis];
      row.offset += at.position[axis] * geometry.dy.spatial[axis];
    }
  }
  return rows;
}

// One tap of the sub-GEMM: how far it moves dy and w.
struct Tap {
  int32_t shift[axes]; // dy cells, per axis
  int64_t dy_offset;   // to subtract
  int64_t w_offset;
};

BITGATE_HD __forceinline__ Tap tap_at(const Geometry& geometry, const SubGemm& gemm,
                                      const int32_t (&dot)[axes]) {
  Tap tap{{}, 0, 0};
  for (int axis = 0; axis < axes; ++axis) {
    tap.shift[axis] = geometry.axis[axis].step * dot[axis];
    tap.dy_offset += tap.shift[axis] * geometry.dy.spatial[axis];
    tap.w_offset += (gemm.tilde[axis] + static_cast<int64_t>(geometry.axis[axis].classes) * dot[axis]) *
                    geometry.w.spatial[axis];
  }
  return tap;
}

// The rows' dy cells at one tap: their addresses at k = 0, null where the tap falls outside the output.
template <class Tiling> struct CellsOfA {
  const typename Tiling::ElementA* cell[Tiling::CoverA::passes];
};

template <class Tiling>
BITGATE_HD __forceinline__ CellsOfA<Tiling> cells_of_a(const typename Tiling::ElementA* dy,
                                                       const Geometry& geometry, const RowsOfA<Tiling>& rows,
                                                       const Tap& tap) {
  CellsOfA<Tiling> cells;
  for (int pass = 0; pass < Tiling::CoverA::passes; ++pass) {
    const auto& row = rows.row[pass];
    bool inside = row.inside;
    for (int axis = 0; axis < axes; ++axis) {
      const int32_t o = row.position[axis] - tap.shift[axis];
      inside = inside && o >= 0 && o < geometry.axis[axis].output;
    }
    cells.cell[pass] = inside ? dy + (row.offset - tap.dy_offset) : nullptr;
  }
  return cells;
}

// A tile: rows of dy, channels k .. k + Tile::K, zeros outside.
template <class Tiling>
BITGATE_HD __forceinline__ void load_a(const Geometry& geometry, const CellsOfA<Tiling>& cells,
                                       int32_t first_k, int thread, typename Tiling::FactorA* tile) {
  using Cover = typename Tiling::CoverA;
  const int column = Cover::column(thread);
  const int32_t k = first_k + column;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const auto* cell = cells.cell[pass];
    ChunkOf<typename Tiling::FactorA, Tiling::Vector::A> chunk{};
    if (cell != nullptr && k < geometry.k)
      chunk = read_factors<typename Tiling::FactorA, Tiling::Vector::A>(cell + k);
    write_chunk(tile + Cover::row(thread, pass) * Tiling::pitch_a + column, chunk);
  }
}

// Threads read w as it lies in LDS: rows k, vectors along c.
template <class Tiling>
using CoverB = Cover<Tiling::Tile::K, Tiling::Tile::N, Tiling::Vector::B, Tiling::block>;

// B tile: channels k .. k + Tile::K of one tap of w, columns c, zeros outside.
template <class Tiling>
BITGATE_HD __forceinline__ void load_b(const typename Tiling::ElementB* w_tap, const Geometry& geometry,
                                       int32_t first_k, const Place& place, typename Tiling::FactorB* tile) {
  using Cover = CoverB<Tiling>;
  const int column = Cover::column(place.thread);
  const int32_t c = place.first_column + column;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int row = Cover::row(place.thread, pass);
    const int32_t k = first_k + row;
    ChunkOf<typename Tiling::FactorB, Tiling::Vector::B> chunk{};
    if (k < geometry.k && c < geometry.c)
      chunk = read_factors<typename Tiling::FactorB, Tiling::Vector::B>(w_tap + k * geometry.w.row + c);
    write_chunk(tile + row * Tiling::pitch_b + column, chunk);
  }
}

// dx and d offsets of a row at channel 0; false if its cell lies outside the image, or the row past M.
BITGATE_HD __forceinline__ bool cell_of_row(const Geometry& geometry, const SubGemm& gemm, int64_t m,
                                            int group, int64_t& dx_offset, int64_t& d_offset) {
  if (m >= rows_of(geometry))
    return false;
  const Row row = row_at(geometry, m);
  dx_offset = group * geometry.dx.group + row.image * geometry.dx.row;
  d_offset = group * geometry.d.group + row.image * geometry.d.row;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t i = dx_coordinate(geometry.axis[axis], gemm.tilde[axis], row.position[axis]);
    if (i < 0 || i >= geometry.axis[axis].input)
      return false;
    dx_offset += i * geometry.dx.spatial[axis];
    d_offset += i * geometry.d.spatial[axis];
  }
  return true;
}

// The tile of sums, through the element-wise operation, to dx.
template <class Tiling>
__device__ __forceinline__ void epilogue(const typename Tiling::Sum* tile, const Geometry& geometry,
                                         const SubGemm& gemm, const Place& place,
                                         const typename Tiling::ElementC* d, typename Tiling::ElementC* dx) {
  using Cover = typename Tiling::CoverC;
  const int column = Cover::column(place.thread);
  const int32_t c = place.first_column + column;
  if (c >= geometry.c)
    return;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int row = Cover::row(place.thread, pass);
    int64_t dx_offset, d_offset;
    if (!cell_of_row(geometry, gemm, place.first_row + row, place.group, dx_offset, d_offset))
      continue;
    typename Tiling::ElementC values[Tiling::Vector::C];
    for (int i = 0; i < Tiling::Vector::C; ++i)
      values[i] = bitgate::finish(tile[row * Tiling::pitch_c + column + i], geometry.op,
                                  d + d_offset + (c + i) * geometry.d.column);
    write_chunk(dx + dx_offset + c, bitgate::bits_as<Chunk<sizeof values>>(values));
  }
}

// One tile of one sub-GEMM; `block` counts within the sub-GEMM, columns fastest.
template <class Tiling>
__device__ __forceinline__ void run_tile(const typename Tiling::ElementA* dy,
                                         const typename Tiling::ElementB* w,
                                         const typename Tiling::ElementC* d, typename Tiling::ElementC* dx,
                                         const Geometry& geometry, const SubGemm& gemm, int block) {
  using Lds = typename Tiling::Lds;
  BITGATE_LDS(Lds, lds);
  const int column_blocks = (geometry.c + Tiling::Tile::N - 1) / Tiling::Tile::N;
  const Place place{static_cast<int64_t>(block / column_blocks) * Tiling::Tile::M,
                    block % column_blocks * Tiling::Tile::N, static_cast<int>(blockIdx.y),
                    static_cast<int>(threadIdx.x)};
  const RowsOfA<Tiling> rows = rows_of_a<Tiling>(geometry, place);
  const auto* w_group = w + place.group * geometry.w.group;

  Sums<Tiling> sums;
  clear(sums);
  int32_t dot[axes];
  for (dot[0] = 0; dot[0] < gemm.taps[0]; ++dot[0])
    for (dot[1] = 0; dot[1] < gemm.taps[1]; ++dot[1])
      for (dot[2] = 0; dot[2] < gemm.taps[2]; ++dot[2]) {
        const Tap tap = tap_at(geometry, gemm, dot);
        const CellsOfA<Tiling> cells = cells_of_a(dy, geometry, rows, tap);
        for (int32_t k = 0; k < geometry.k; k += Tiling::Tile::K) {
          load_a(geometry, cells, k, place.thread, lds.operands.a);
          load_b<Tiling>(w_group + tap.w_offset, geometry, k, place, lds.operands.b);
          __syncthreads(); // tiles are complete
          compute(lds.operands, place.thread, sums);
          __syncthreads(); // tiles are free again
        }
      }
  store_sums(sums, place.thread, lds.c);
  __syncthreads(); // sums are complete
  epilogue<Tiling>(lds.c, geometry, gemm, place, d, dx);
}

// Flat path: one sub-GEMM a launch.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::block)
    kernel_flat(const typename Tiling::ElementA* dy, const typename Tiling::ElementB* w,
                const typename Tiling::ElementC* d, typename Tiling::ElementC* dx, Geometry geometry,
                SubGemm gemm) {
  run_tile<Tiling>(dy, w, d, dx, geometry, gemm, static_cast<int>(blockIdx.x));
}

// Grouped path: the blocks of up to max_bucket sub-GEMMs stand in a row; each finds the one that it belongs
// to. Their reductions differ in length, so some may run one K block where others run many.
template <class Tiling>
__global__ void __launch_bounds__(Tiling::block)
    kernel_grouped(const typename Tiling::ElementA* dy, const typename Tiling::ElementB* w,
                   const typename Tiling::ElementC* d, typename Tiling::ElementC* dx, Geometry geometry,
                   Bucket bucket) {
  const int block = static_cast<int>(blockIdx.x);
  int index = 0;
  while (index + 1 < bucket.count && block >= bucket.gemms[index + 1].first_block)
    ++index;
  const SubGemm& gemm = bucket.gemms[index];
  run_tile<Tiling>(dy, w, d, dx, geometry, gemm, block - gemm.first_block);
}

} // namespace grouped_bwd_data
