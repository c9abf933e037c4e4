// What threads do with the operands of a step, whichever family's they are: the rows that they load, and how
// what they hold of a tile goes to LDS.
#pragma once

#include "bitgate/implicit_gemm/rows.hpp"
#include "bitgate/implicit_gemm/tiling.hpp"

namespace bitgate::implicit_gemm {

// What a thread moves of one step, in registers: its vectors of A and of B as factors.
template <class Tiling, class CoverA, class CoverB> struct OperandStage {
  ChunkOf<typename Tiling::FactorA, CoverA::vector> a[CoverA::passes];
  ChunkOf<typename Tiling::FactorB, CoverB::vector> b[CoverB::passes];
};

// What a thread keeps of the rows of A that it loads, computed once: where their cells lie at tap 0.
template <int passes> struct RowsOfA {
  struct {
    int64_t offset;
    int32_t at[axes];
  } row[passes];
};

// Of the rows of `Cover` from `first` on, in the images from `first_image` on. `cell_at(axis, position)`: the
// coordinate at tap 0; where rows lie `apart` evenly there is one tap, and 0 stands for all positions. Of a
// row past M the first coordinate is `outside`, so that it lies outside at every tap: flags would take two
// scalar registers each.
template <class Cover, int32_t outside, class Geometry, class CellAt>
__device__ __forceinline__ RowsOfA<Cover::passes> rows_of_a(const Geometry& geometry, const Layout& layout,
                                                            int64_t apart, int64_t first, int group,
                                                            int32_t first_image, int thread, CellAt cell_at) {
  RowsOfA<Cover::passes> rows;
  if (apart != 0) {
    const int32_t count = rows_from(geometry, first, Cover::passes * Cover::rows);
    const int64_t corner = offset_of(layout, {group, first_image}) + first * apart;
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int32_t row = Cover::row(thread, pass);
      rows.row[pass] = {corner + row * apart, {row < count ? 0 : outside, 0, 0}};
    }
    return rows;
  }
  Row at = row_at(geometry, first + Cover::row(thread, 0));
  const Row step = digits_of(geometry, Cover::rows);
  for (int pass = 0; pass < Cover::passes; ++pass, advance(geometry, at, step)) {
    auto& row = rows.row[pass];
    for (int axis = 0; axis < axes; ++axis)
      row.at[axis] = cell_at(geometry.axis[axis], at.position[axis]);
    row.offset = offset_of(layout, cell_of(group, first_image + at.image, row.at));
    if (at.image >= geometry.images)
      row.at[0] = outside;
  }
  return rows;
}

// What lies at an address, or zeros.
template <class Factor, int Count, class Element>
BITGATE_HD __forceinline__ ChunkOf<Factor, Count> read_or_clear(bool is_there, const Element* from) {
  ChunkOf<Factor, Count> chunk = {};
  if (is_there)
    chunk = read_factors<Factor, Count>(from);
  return chunk;
}

// What a thread will read of the step after this one, as far as that goes on at the same pace: other threads
// run until then. A GPU hides the way to memory by itself.
template <int passes, class Element>
BITGATE_HD __forceinline__ void expect_reads([[maybe_unused]] const Element* first,
                                             [[maybe_unused]] int64_t pace) {
#if defined(BITGATE_PLATFORM_HOST)
  for (int pass = 0; pass < passes; ++pass)
    __builtin_prefetch(first + pass * pace);
#endif
}

// A thread's vectors of a tile to LDS, as they lie in memory.
template <class Cover, int pitch, class Factor, class Chunks>
BITGATE_HD __forceinline__ void store_vectors(const Chunks& chunks, int thread, Factor* tile) {
  for (int pass = 0; pass < Cover::passes; ++pass)
    write_chunk(tile + lds_place<Cover, pitch>(thread, pass), chunks[pass]);
}

// The same turned: what lies side by side in memory goes below each other.
template <class Cover, int pitch, class Factor, class Chunk>
BITGATE_HD __forceinline__ void store_turned(const Chunk& chunk, int row, int column, Factor* tile) {
  struct Factors {
    Factor at[Cover::vector];
  };
  const auto factors = bits_as<Factors>(chunk);
  for (int i = 0; i < Cover::vector; ++i)
    tile[(column + i) * pitch + row] = factors.at[i];
}

} // namespace bitgate::implicit_gemm
