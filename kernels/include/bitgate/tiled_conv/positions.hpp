// Forward and backward data in tiles: rows are positions, the reduction runs over taps, then channels.
#pragma once

#include "tiles.hpp"

namespace bitgate::tiled_conv {

template <class T> struct ForwardTile {
  using A = typename T::X;
  using FactorA = typename T::FactorX;
  using B = typename T::W;
  using C = typename T::Y;
  BITGATE_HD static int64_t rows(const ConvShape& s) {
    return s.images * s.output[0] * s.output[1] * s.output[2];
  }
  BITGATE_HD static int64_t columns(const ConvShape& s) { return s.k; }
  BITGATE_HD static int64_t terms(const ConvShape& s) { return s.c; }
  BITGATE_HD static const Layout& a(const ConvShape& s) { return s.x; }
  BITGATE_HD static const Layout& c(const ConvShape& s) { return s.y; }
  BITGATE_HD static int64_t b_column(const ConvShape& s) { return s.w.row; }
  BITGATE_HD static int64_t b_term(const ConvShape& s) { return s.w.column; }
  BITGATE_HD static Elementwise a_op(const Arguments& arguments) { return arguments.x_op; }
  BITGATE_HD static bool meets(const ConvShape& s, int axis, int64_t o, int64_t f, int64_t& i) {
    return input_at(s, axis, o, f, i);
  }
  BITGATE_HD static bool cell_of(const ConvShape& s, int64_t m, Cell& cell) {
    for (int axis = axes - 1; axis >= 0; --axis) {
      cell.at[axis] = m % s.output[axis];
      m /= s.output[axis];
    }
    cell.row = m;
    return m < s.images;
  }
};

// Positions of one residue modulo the stride stand together, because taps meet them all or none of them: a
// tile skips the taps that do not. Axes are filled up to whole residues; what lies beyond the image is no
// cell.
template <class T> struct BackwardDataTile {
  using A = typename T::Y;
  using FactorA = typename T::FactorY;
  using B = typename T::W;
  using C = typename T::X;
  BITGATE_HD static int64_t residues(const ConvShape& s, int axis) {
    return s.stride[axis] < s.input[axis] ? s.stride[axis] : s.input[axis];
  }
  BITGATE_HD static int64_t length(const ConvShape& s, int axis) { // positions of a residue
    return (s.input[axis] + residues(s, axis) - 1) / residues(s, axis);
  }
  BITGATE_HD static int64_t rows(const ConvShape& s) {
    int64_t rows = s.images;
    for (int axis = 0; axis < axes; ++axis)
      rows *= residues(s, axis) * length(s, axis);
    return rows;
  }
  BITGATE_HD static int64_t columns(const ConvShape& s) { return s.c; }
  BITGATE_HD static int64_t terms(const ConvShape& s) { return s.k; }
  BITGATE_HD static const Layout& a(const ConvShape& s) { return s.y; }
  BITGATE_HD static const Layout& c(const ConvShape& s) { return s.x; }
  BITGATE_HD static int64_t b_column(const ConvShape& s) { return s.w.column; }
  BITGATE_HD static int64_t b_term(const ConvShape& s) { return s.w.row; }
  BITGATE_HD static Elementwise a_op(const Arguments&) { return {}; }
  BITGATE_HD static bool meets(const ConvShape& s, int axis, int64_t i, int64_t f, int64_t& o) {
    return output_at(s, axis, i, f, o);
  }
  BITGATE_HD static bool cell_of(const ConvShape& s, int64_t m, Cell& cell) {
    for (int axis = axes - 1; axis >= 0; --axis) {
      cell.at[axis] = m % length(s, axis) * residues(s, axis);
      m /= length(s, axis);
    }
    cell.row = m % s.images;
    m /= s.images;
    bool inside = true;
    for (int axis = axes - 1; axis >= 0; --axis) {
      cell.at[axis] += m % residues(s, axis);
      m /= residues(s, axis);
      inside = inside && cell.at[axis] < s.input[axis];
    }
    return inside && m == 0;
  }
};

template <class T, class Tile> struct TileLds {
  Slices<T, Tile> slices;
  Cells<Tile> cells;
  int64_t row[Tile::cells]; // where a row's operand begins at this tap; -1: nowhere
  int32_t live_tap;         // the last one at which some row has a term
};

template <class T, class Pass, class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::resident)
    kernel_tile(const typename Pass::A* a, const typename Pass::B* b, typename Pass::C* c,
                const typename Pass::C* d, Arguments arguments) {
  using Lds = TileLds<T, Tile>;
  BITGATE_LDS(Lds, lds);
  const ConvShape& shape = arguments.shape;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t columns = Pass::columns(shape), terms = Pass::terms(shape);
  int64_t tile = blockIdx.x;
  const int64_t first_column = tile % tiles_of<Tile>(columns) * Tile::cells;
  tile /= tiles_of<Tile>(columns);
  const int64_t row_tiles = tiles_of<Tile>(Pass::rows(shape)), group = tile / row_tiles;

  Cell cell{group, 0, 0, {}}; // of the row that this thread looks after
  bool is_cell = false;
  if (thread < Tile::cells) {
    is_cell = Pass::cell_of(shape, tile % row_tiles * Tile::cells + thread, cell);
    lds.cells.result[thread] = is_cell ? offset_of(Pass::c(shape), cell) : -1;
    lds.cells.d[thread] = offset_of(arguments.d, cell);
    lds.live_tap = -1;
  }
  __syncthreads();

  const int64_t a_stride = Pass::a(shape).column;
  const int64_t b_column = Pass::b_column(shape), b_term = Pass::b_term(shape);
  const Elementwise a_op = Pass::a_op(arguments);
  Transfer<T, Tile, typename Pass::A, typename Pass::FactorA> a_transfer{
      Share<Tile>(a_stride <= Pass::a(shape).spatial[axes - 1]), a_op, {}};
  Transfer<T, Tile, typename Pass::B, typename T::FactorW> b_transfer{
      Share<Tile>(b_term <= b_column), arguments.w_op, {}};
  TileSums<T, Tile> sums{};
  int32_t number = 0;
  int turn = 0;
  Cell tap{group, 0, 0, {}};
  for (tap.at[0] = 0; tap.at[0] < shape.filter[0]; ++tap.at[0])
    for (tap.at[1] = 0; tap.at[1] < shape.filter[1]; ++tap.at[1])
      for (tap.at[2] = 0; tap.at[2] < shape.filter[2]; ++tap.at[2], ++number) {
        if (thread < Tile::cells) {
          Cell at{group, cell.row, 0, {}};
          bool meets = is_cell;
          for (int axis = 0; axis < axes; ++axis)
            meets = meets && Pass::meets(shape, axis, cell.at[axis], tap.at[axis], at.at[axis]);
          lds.row[thread] = meets ? offset_of(Pass::a(shape), at) : -1;
          if (meets)
            lds.live_tap = number;
        }
        __syncthreads();
        if (lds.live_tap != number) {
          __syncthreads(); // everybody has seen it before it changes
          continue;
        }
        bool live[Tile::side];
        for (int i = 0; i < Tile::side; ++i)
          live[i] = lds.row[thread / Tile::lanes * Tile::side + i] >= 0;
        const typename Pass::A* a_row[Tile::loads];
        const typename Pass::B* b_row[Tile::loads];
        for (int load = 0; load < Tile::loads; ++load) {
          const int64_t row = lds.row[a_transfer.share.cell_of(load)];
          const int64_t column = first_column + b_transfer.share.cell_of(load);
          a_row[load] = row >= 0 ? a + row : nullptr;
          b_row[load] = column < columns ? b + offset_of(shape.w, tap) + column * b_column : nullptr;
        }
        accumulate<T, Tile>(
            lds.slices, turn, terms, a_transfer,
            [&](int load, int64_t term) { return a_row[load] ? a_row[load] + term * a_stride : nullptr; },
            b_transfer,
            [&](int load, int64_t term) { return b_row[load] ? b_row[load] + term * b_term : nullptr; }, live,
            sums);
      }
  store_tile<T, Tile>(lds.cells, sums, c, d, arguments, first_column, columns, Pass::c(shape).column);
}

} // namespace bitgate::tiled_conv
