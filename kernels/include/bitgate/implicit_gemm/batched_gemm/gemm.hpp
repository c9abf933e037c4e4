// Batched GEMM, multiple D. One block computes one Tile::M x Tile::N tile of one matrix; blockIdx.y is the
// batch, blockIdx.z the slice of the reduction (split-K). For each Tile::K terms of the reduction the block
// loads a tile of A and of B into LDS, then its waves multiply fragments. At the end the sums go through LDS,
// so that C is written in vectors along n.
//
// Needs: the contiguous dimension of A and B that the variant states, n contiguous in C; lengths along
// contiguous dimensions in whole vectors; vectors aligned (dispatch.hpp checks). Terms past K, rows past M
// and columns past N are loaded as zeros. Offsets are 64-bit.
#pragma once

#include "bitgate/atomic.hpp"
#include "bitgate/implicit_gemm/epilogue.hpp"
#include "bitgate/implicit_gemm/operands.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"
#include "geometry.hpp"

namespace bitgate::implicit_gemm::batched_gemm {

// Which dimension of a matrix is contiguous: row-major A has k, row-major B has n.
enum class Order { row, column };

// An instance: a tiling, and how A and B lie in memory.
template <Order a_, Order b_, class Tiling_> struct Variant : Tiling_ {
  static constexpr Order a = a_, b = b_;
  // Threads read a matrix as it lies in memory: memory rows, and vectors along the contiguous dimension.
  using ReadA =
      std::conditional_t<a == Order::row, typename Tiling_::CoverA,
                         Cover<Tiling_::Tile::K, Tiling_::Tile::M, Tiling_::Vector::A, Tiling_::block>>;
  using ReadB =
      std::conditional_t<b == Order::row,
                         Cover<Tiling_::Tile::K, Tiling_::Tile::N, Tiling_::Vector::B, Tiling_::block>,
                         Cover<Tiling_::Tile::N, Tiling_::Tile::K, Tiling_::Vector::B, Tiling_::block>>;
};

// A matrix in memory: `rows` rows, `stride` elements apart, of `columns` contiguous elements.
template <class Element> struct Matrix {
  const Element* cells;
  int64_t stride;
  int32_t rows, columns;
};

// A thread's vectors of the tile at (first_row, first_column) of a matrix, zeros outside.
template <class Cover, class Factor, class Element, class Chunks>
BITGATE_HD __forceinline__ void fetch_tile(const Matrix<Element>& matrix, int32_t first_row,
                                           int32_t first_column, int thread, Chunks& chunks) {
  const int32_t column = first_column + Cover::column(thread);
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int32_t row = first_row + Cover::row(thread, pass);
    chunks[pass] = ChunkOf<Factor, Cover::vector>{};
    if (row < matrix.rows && column < matrix.columns)
      chunks[pass] = read_factors<Factor, Cover::vector>(matrix.cells + row * matrix.stride + column);
  }
}

// The same to LDS: as it lies in memory, or turned.
template <class Cover, bool turned, int pitch, class Factor, class Chunks>
BITGATE_HD __forceinline__ void store_tile(const Chunks& chunks, int thread, Factor* tile) {
  if constexpr (turned)
    for (int pass = 0; pass < Cover::passes; ++pass)
      store_turned<Cover, pitch>(chunks[pass], Cover::row(thread, pass), Cover::column(thread), tile);
  else
    store_vectors<Cover, pitch>(chunks, thread, tile);
}

// A thread's way through the steps of the reduction (a Source of pipeline.hpp).
template <class Variant> struct Steps {
  using ReadA = typename Variant::ReadA;
  using ReadB = typename Variant::ReadB;
  using FactorA = typename Variant::FactorA;
  using FactorB = typename Variant::FactorB;
  static constexpr bool turn_a = Variant::a == Order::column, turn_b = Variant::b == Order::column;
  using Stage = OperandStage<Variant, ReadA, ReadB>;

  Matrix<typename Variant::ElementA> a;
  Matrix<typename Variant::ElementB> b;
  int32_t m, n, k; // of the block's tile, and of the step's first term
  int thread;

  BITGATE_HD __forceinline__ void fetch(Stage& stage) const {
    fetch_tile<ReadA, FactorA>(a, turn_a ? k : m, turn_a ? m : k, thread, stage.a);
    fetch_tile<ReadB, FactorB>(b, turn_b ? n : k, turn_b ? k : n, thread, stage.b);
  }
  BITGATE_HD __forceinline__ void next() { k += Variant::Tile::K; }
  BITGATE_HD __forceinline__ void store(const Stage& stage, typename Variant::Operands& tiles) const {
    store_tile<ReadA, turn_a, Variant::pitch_a>(stage.a, thread, tiles.a);
    store_tile<ReadB, turn_b, Variant::pitch_b>(stage.b, thread, tiles.b);
  }
};

// The tile of sums to C: through the operation, or, of one slice of the reduction, added to what the others
// add.
template <class Variant, bool split>
__device__ __forceinline__ void
epilogue(const typename Variant::Sum* tile, const Geometry& geometry, int32_t first_row, int32_t first_column,
         const typename Variant::ElementC* cells_of_d, typename Variant::ElementC* c) {
  using Cover = typename Variant::CoverC;
  using C = typename Variant::ElementC;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto batch = static_cast<int64_t>(blockIdx.y);
  const DCell<C> d(cells_of_d, geometry.op);
  const int column = Cover::column(thread);
  const int32_t n = first_column + column;
  if (n >= geometry.n)
    return;
  for (int pass = 0; pass < Cover::passes; ++pass) {
    const int row = Cover::row(thread, pass);
    const int32_t m = first_row + row;
    if (m >= geometry.m)
      continue;
    const auto* sums = tile + row * Variant::pitch_c + column;
    C* to = c + offset_of(geometry.c, {batch, m}) + n;
    C values[Variant::Vector::C];
    if constexpr (split) {
      round_vector(sums, values);
      atomic_add(to, values);
    } else {
      finish_vector(sums, geometry.op, d + offset_of(geometry.d, {batch, m, n}), geometry.d.column, values);
      write_vector(to, values);
    }
  }
}

template <class Variant>
__global__ void __launch_bounds__(Variant::block)
    kernel_gemm(const typename Variant::ElementA* a, const typename Variant::ElementB* b,
                const typename Variant::ElementC* d, typename Variant::ElementC* c, Geometry geometry) {
  using Lds = typename Variant::Lds;
  using Tile = typename Variant::Tile;
  BITGATE_LDS(Lds, lds);
  constexpr bool turn_a = Steps<Variant>::turn_a, turn_b = Steps<Variant>::turn_b;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const auto batch = static_cast<int64_t>(blockIdx.y);
  const int column_blocks = (geometry.n + Tile::N - 1) / Tile::N;
  const int32_t m = block / column_blocks * Tile::M, n = block % column_blocks * Tile::N;
  Matrix<typename Variant::ElementA> matrix_a{a + offset_of(geometry.a, {batch}), geometry.a.row, geometry.m,
                                              geometry.k};
  if constexpr (turn_a)
    matrix_a = {matrix_a.cells, geometry.a.column, geometry.k, geometry.m};
  Matrix<typename Variant::ElementB> matrix_b{b + offset_of(geometry.b, {batch}), geometry.b.column,
                                              geometry.k, geometry.n};
  if constexpr (turn_b)
    matrix_b = {matrix_b.cells, geometry.b.row, geometry.n, geometry.k};

  const int32_t steps = (geometry.k + Tile::K - 1) / Tile::K;
  const Slice slice = slice_of(steps, geometry.slices, static_cast<int32_t>(blockIdx.z));
  if (slice.count == 0)
    return;
  Steps<Variant> source{matrix_a, matrix_b, m, n, slice.first * Tile::K, thread};
  Sums<Variant> sums;
  sum_steps<Variant, MainLoop::mixed>(source, slice.count, thread, lds, sums);
  for (int round = 0; round < Variant::rounds; ++round) {
    share_sums<Variant>(sums, round, thread, lds);
    const int32_t first_row = m + round * Variant::rows;
    if (geometry.slices > 1)
      epilogue<Variant, true>(lds.c, geometry, first_row, n, d, c);
    else
      epilogue<Variant, false>(lds.c, geometry, first_row, n, d, c);
  }
}

// C = 0, before slices are added to it; by strides, so that gaps stay untouched.
inline constexpr int clear_block = 256;

template <class C>
__global__ void __launch_bounds__(clear_block) kernel_clear(C* c, int64_t cells, Geometry geometry) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * clear_block + threadIdx.x; i < cells;
       i += static_cast<int64_t>(gridDim.x) * clear_block) {
    const int64_t row = i / geometry.n;
    c[offset_of(geometry.c, {row / geometry.m, row % geometry.m}) + i % geometry.n] = Number<C>::narrow(0);
  }
}

} // namespace bitgate::implicit_gemm::batched_gemm
