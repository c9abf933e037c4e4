// The same sums in the same order as one thread a cell (kernels/naive_conv/naive_conv.hpp), a tile of
// cells a block: operands go through LDS, each
// thread keeps side x side sums in registers, so that a term costs one fma instead of two loads from memory.
// On GPUs this is what makes the naive kernels a reference for large cases.
//
// Rows of a tile are positions of the result (bwd_weight: its k), columns its channels. What a cell sums, and
// in which order, is that of the kernels of one thread a cell: terms outside a tensor are skipped row by row.
#pragma once

#include "bitgate/lds.hpp"
#include "bitgate/ordered_conv.hpp"

namespace bitgate::tiled_conv {

using namespace ordered_conv;

// `lanes` x `lanes` threads with `side` x `side` cells each; `steps` of the reduction between two barriers,
// and the blocks that are to fit into a compute unit at once.
template <int lanes_, int side_, int steps_, int resident_> struct Tiling {
  static constexpr int lanes = lanes_, side = side_, steps = steps_, resident = resident_;
  static constexpr int threads = lanes * lanes, cells = lanes * side;
  static constexpr int loads = cells * steps / threads; // elements a thread brings, of an operand and slice
};
using LargeTile = Tiling<16, 4, 16, 2>;
// A small result has enough of these to keep a GPU busy.
using SmallTile = Tiling<8, 2, 16, 1>;
inline constexpr int64_t large_tiles_wanted = 128; // fewer leave compute units idle

// What a thread reads at once.
template <class Accumulator, int side> struct alignas(side * sizeof(Accumulator)) Few {
  Accumulator value[side];
};

// Two slices of both operands: one is read while the next one is written.
template <class T, class Tile> struct Slices {
  // One more than needed: rows of the reduction then start in different banks.
  using Row = Few<typename T::Accumulator, Tile::side>[Tile::lanes + 1];
  Row a[2][Tile::steps], b[2][Tile::steps];
};

template <class Tile> struct Cells {
  int64_t result[Tile::cells], d[Tile::cells]; // of a row's first cell; -1: there is none
};

template <class T, class Tile> struct TileSums {
  typename T::Accumulator cell[Tile::side][Tile::side];
};

template <class Tile> BITGATE_HD inline int64_t tiles_of(int64_t length) {
  return (length + Tile::cells - 1) / Tile::cells;
}

// sums += one term of each of the thread's cells whose row is live.
template <class T, class Tile, bool all_live, class Row>
__device__ __forceinline__ void add_term(const Row& a_row, const Row& b_row, const bool (&live)[Tile::side],
                                         TileSums<T, Tile>& sums) {
  const auto a = a_row[threadIdx.x / Tile::lanes], b = b_row[threadIdx.x % Tile::lanes];
  for (int i = 0; i < Tile::side; ++i)
    if (all_live || live[i])
      for (int j = 0; j < Tile::side; ++j)
        sums.cell[i][j] = fused(a.value[i], b.value[j], sums.cell[i][j]);
}

template <class T, class Tile, class Slice>
__device__ __forceinline__ void add_whole_slice(const Slice& a, const Slice& b,
                                                const bool (&live)[Tile::side], TileSums<T, Tile>& sums) {
#if defined(__HIP_DEVICE_COMPILE__)
  // Of integers clang would read the whole slice ahead, into more registers than there are.
  constexpr int unrolled = std::is_integral_v<typename T::Accumulator> ? 4 : Tile::steps;
#pragma unroll unrolled
#endif
  for (int step = 0; step < Tile::steps; ++step)
    add_term<T, Tile, true>(a[step], b[step], live, sums);
}

// sums += the slice's first `steps` terms, one after the other. Rows that are not live are rare, at borders:
// only there each row is asked for.
template <class T, class Tile, class Slice>
BITGATE_SHARED_PART void add_slice(const Slice& a, const Slice& b, int steps, const bool (&live)[Tile::side],
                                   TileSums<T, Tile>& sums) {
  bool all_live = true;
  for (int i = 0; i < Tile::side; ++i)
    all_live = all_live && live[i];
  if (!all_live)
    for (int step = 0; step < steps; ++step)
      add_term<T, Tile, false>(a[step], b[step], live, sums);
  else if (steps < Tile::steps)
    for (int step = 0; step < steps; ++step)
      add_term<T, Tile, true>(a[step], b[step], live, sums);
  else
    add_whole_slice<T, Tile>(a, b, live, sums);
}

// The elements of a slice that a thread brings. Neighbours bring neighbouring steps, or neighbouring cells.
template <class Tile> struct Share {
  int step, cell, next_step, next_cell;
  BITGATE_HD explicit Share(bool steps_first) {
    const int thread = static_cast<int>(threadIdx.x), fast = steps_first ? Tile::steps : Tile::cells;
    const int rest = thread / fast, next = Tile::threads / fast;
    step = steps_first ? thread % fast : rest, next_step = steps_first ? 0 : next;
    cell = steps_first ? rest : thread % fast, next_cell = steps_first ? next : 0;
  }
  BITGATE_HD int step_of(int load) const { return step + load * next_step; }
  BITGATE_HD int cell_of(int load) const { return cell + load * next_cell; }
};

// A thread's share of one operand on its way from memory to LDS.
template <class T, class Tile, class Element, class Factor> struct Transfer {
  Share<Tile> share;
  const Elementwise& op;
  Element held[Tile::loads];

  // at(load, term): where that element lies; only asked for terms that exist, null if it is none.
  template <class At> __device__ __forceinline__ void fetch(int64_t first, int64_t terms, At at) {
    for (int load = 0; load < Tile::loads; ++load) {
      const int64_t term = first + share.step_of(load);
      const Element* from = term < terms ? at(load, term) : nullptr;
      held[load] = from ? *from : Element{};
    }
  }

  template <class Slice> BITGATE_SHARED_PART void put(Slice& slice) const {
    for (int load = 0; load < Tile::loads; ++load) {
      const int cell = share.cell_of(load);
      slice[share.step_of(load)][cell / Tile::side].value[cell % Tile::side] =
          factor<T, Factor>(held[load], op);
    }
  }
};

// sums += `terms` terms in order. While a slice is multiplied the next one is on its way. `turn` counts
// slices.
template <class T, class Tile, class A, class B, class AtA, class AtB>
__device__ __forceinline__ void accumulate(Slices<T, Tile>& lds, int& turn, int64_t terms, A& a, AtA at_a,
                                           B& b, AtB at_b, const bool (&live)[Tile::side],
                                           TileSums<T, Tile>& sums) {
  a.fetch(0, terms, at_a);
  b.fetch(0, terms, at_b);
  for (int64_t first = 0; first < terms; first += Tile::steps, turn ^= 1) {
    a.put(lds.a[turn]);
    b.put(lds.b[turn]);
    __syncthreads();
    a.fetch(first + Tile::steps, terms, at_a);
    b.fetch(first + Tile::steps, terms, at_b);
    const int steps = terms - first < Tile::steps ? static_cast<int>(terms - first) : Tile::steps;
    add_slice<T, Tile>(lds.a[turn], lds.b[turn], steps, live, sums);
  }
}

// Where the tile's sums go.
template <class T, class Tile, class Element>
BITGATE_SHARED_PART void store_tile(const Cells<Tile>& lds, const TileSums<T, Tile>& sums, Element* result,
                                    const Element* cells_of_d, const Arguments& arguments,
                                    int64_t first_column, int64_t columns, int64_t stride) {
  const int row = static_cast<int>(threadIdx.x) / Tile::lanes * Tile::side;
  const int64_t column = first_column + static_cast<int>(threadIdx.x) % Tile::lanes * Tile::side;
  const DCell<Element> d(cells_of_d, arguments.op);
  for (int i = 0; i < Tile::side; ++i)
    for (int j = 0; j < Tile::side; ++j)
      if (lds.result[row + i] >= 0 && column + j < columns)
        result[lds.result[row + i] + (column + j) * stride] =
            finish(sums.cell[i][j], arguments.op, d + lds.d[row + i] + (column + j) * arguments.d.column);
}

} // namespace bitgate::tiled_conv
