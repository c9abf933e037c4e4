// The same sums in the same order as naive_conv.hpp, a tile of cells a block: operands go through LDS, each
// thread keeps 4 x 4 sums in registers, so that a term costs one fma instead of two loads from memory. On
// GPUs this is what makes the naive kernels a reference for large cases.
//
// Rows of a tile are positions of the result (bwd_weight: its k), columns its channels. What a cell sums, and
// in which order, is that of the kernels of one thread a cell: terms outside a tensor are skipped row by row.
#pragma once

#include "bitgate/lds.hpp"
#include "naive_conv.hpp"

namespace naive_conv {

inline constexpr int tile_side = 64;  // rows and columns of a tile
inline constexpr int tile_steps = 16; // of the reduction, between two barriers
inline constexpr int side = 4;        // rows and columns of a thread
inline constexpr int lanes = tile_side / side;
static_assert(lanes * lanes == block_size);

// What a thread reads at once.
template <class Accumulator> struct alignas(16) Quad {
  Accumulator value[side];
};

template <class T> struct TileLds {
  // One quad more than needed: rows of the reduction then start in different banks.
  Quad<typename T::Accumulator> a[tile_steps][lanes + 1], b[tile_steps][lanes + 1];
  int64_t row[tile_side];                         // where a row's operand begins at this tap; -1: nowhere
  int64_t result[tile_side], d[tile_side];        // of a row's first cell; -1: there is none
  int64_t a_step[tile_steps], b_step[tile_steps]; // bwd_weight: where a step's operands begin
  int32_t live_tap;                               // the last one at which some row has a term
};

template <class T> struct TileSums {
  typename T::Accumulator cell[side][side];
};

BITGATE_HD inline int64_t tiles_of(int64_t length) {
  return (length + tile_side - 1) / tile_side;
}

// sums += one term of each of the thread's cells whose row is live.
template <class T, bool all_live>
__device__ __forceinline__ void add_term(const TileLds<T>& lds, int step, const bool (&live)[side],
                                         TileSums<T>& sums) {
  const auto a = lds.a[step][threadIdx.x / lanes], b = lds.b[step][threadIdx.x % lanes];
  for (int i = 0; i < side; ++i)
    if (all_live || live[i])
      for (int j = 0; j < side; ++j)
        sums.cell[i][j] = bitgate::fused(a.value[i], b.value[j], sums.cell[i][j]);
}

// sums += the tile's next `steps` terms, one after the other. Rows that are not live are rare, at borders:
// only there each row is asked for.
template <class T>
__device__ __forceinline__ void accumulate(const TileLds<T>& lds, int steps, const bool (&live)[side],
                                           TileSums<T>& sums) {
  if (!(live[0] && live[1] && live[2] && live[3]))
    for (int step = 0; step < steps; ++step)
      add_term<T, false>(lds, step, live, sums);
  else if (steps < tile_steps)
    for (int step = 0; step < steps; ++step)
      add_term<T, true>(lds, step, live, sums);
  else
    for (int step = 0; step < tile_steps; ++step)
      add_term<T, true>(lds, step, live, sums);
}

// put(s, i) for each step and each row (or column) of a tile, shared among the threads so that neighbours
// have neighbouring steps, or neighbouring rows.
template <class Put> __device__ __forceinline__ void each_of_tile(bool steps_first, Put put) {
  for (int e = static_cast<int>(threadIdx.x); e < tile_side * tile_steps; e += block_size)
    if (steps_first)
      put(e % tile_steps, e / tile_steps);
    else
      put(e / tile_side, e % tile_side);
}

// Where the tile's sums go.
template <class T, class Element>
__device__ __forceinline__ void store_tile(const TileLds<T>& lds, const TileSums<T>& sums, Element* result,
                                           const Element* d, const Arguments& arguments, int64_t first_column,
                                           int64_t columns, int64_t stride) {
  const int row = static_cast<int>(threadIdx.x) / lanes * side;
  const int64_t column = first_column + static_cast<int>(threadIdx.x) % lanes * side;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      if (lds.result[row + i] >= 0 && column + j < columns)
        result[lds.result[row + i] + (column + j) * stride] = bitgate::finish(
            sums.cell[i][j], arguments.op, d + lds.d[row + i] + (column + j) * arguments.d.column);
}

// ---- fwd and bwd_data: rows are positions, the reduction runs over taps, then channels

template <class T> struct ForwardTile {
  using A = typename T::X;
  using B = typename T::W;
  using C = typename T::Y;
  BITGATE_HD static int64_t rows(const ConvShape& s) {
    return s.images * s.output[0] * s.output[1] * s.output[2];
  }
  BITGATE_HD static int64_t columns(const ConvShape& s) { return s.k; }
  BITGATE_HD static int64_t terms(const ConvShape& s) { return s.c; }
  BITGATE_HD static const Strides& a(const ConvShape& s) { return s.x; }
  BITGATE_HD static const Strides& c(const ConvShape& s) { return s.y; }
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
  BITGATE_HD static const Strides& a(const ConvShape& s) { return s.y; }
  BITGATE_HD static const Strides& c(const ConvShape& s) { return s.x; }
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

template <class T, class Pass>
__global__ void __launch_bounds__(block_size)
    kernel_tile(const typename Pass::A* a, const typename Pass::B* b, typename Pass::C* c,
                const typename Pass::C* d, Arguments arguments) {
  BITGATE_LDS(TileLds<T>, lds);
  const ConvShape& shape = arguments.shape;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t columns = Pass::columns(shape), terms = Pass::terms(shape);
  int64_t tile = blockIdx.x;
  const int64_t first_column = tile % tiles_of(columns) * tile_side;
  tile /= tiles_of(columns);
  const int64_t row_tiles = tiles_of(Pass::rows(shape)), group = tile / row_tiles;

  Cell cell{group, 0, 0, {}}; // of the row that this thread looks after
  bool is_cell = false;
  if (thread < tile_side) {
    is_cell = Pass::cell_of(shape, tile % row_tiles * tile_side + thread, cell);
    lds.result[thread] = is_cell ? offset_of(cell, Pass::c(shape)) : -1;
    lds.d[thread] = offset_of(cell, arguments.d);
    lds.live_tap = -1;
  }
  __syncthreads();

  const int64_t a_stride = Pass::a(shape).column;
  const int64_t b_column = Pass::b_column(shape), b_term = Pass::b_term(shape);
  const Elementwise a_op = Pass::a_op(arguments);
  TileSums<T> sums{};
  int32_t number = 0;
  Cell tap{group, 0, 0, {}};
  for (tap.at[0] = 0; tap.at[0] < shape.filter[0]; ++tap.at[0])
    for (tap.at[1] = 0; tap.at[1] < shape.filter[1]; ++tap.at[1])
      for (tap.at[2] = 0; tap.at[2] < shape.filter[2]; ++tap.at[2], ++number) {
        if (thread < tile_side) {
          Cell at{group, cell.row, 0, {}};
          bool meets = is_cell;
          for (int axis = 0; axis < axes; ++axis)
            meets = meets && Pass::meets(shape, axis, cell.at[axis], tap.at[axis], at.at[axis]);
          lds.row[thread] = meets ? offset_of(at, Pass::a(shape)) : -1;
          if (meets)
            lds.live_tap = number;
        }
        __syncthreads();
        if (lds.live_tap != number) {
          __syncthreads(); // everybody has seen it before it changes
          continue;
        }
        bool live[side];
        for (int i = 0; i < side; ++i)
          live[i] = lds.row[thread / lanes * side + i] >= 0;
        const auto* b_tap = b + offset_of(tap, shape.w);
        for (int64_t first = 0; first < terms; first += tile_steps) {
          const int steps = terms - first < tile_steps ? static_cast<int>(terms - first) : tile_steps;
          each_of_tile(true, [&](int s, int row) {
            if (s < steps && lds.row[row] >= 0)
              lds.a[s][row / side].value[row % side] =
                  factor<T>(a[lds.row[row] + (first + s) * a_stride], a_op);
          });
          each_of_tile(b_term <= b_column, [&](int s, int column) {
            if (s < steps && first_column + column < columns)
              lds.b[s][column / side].value[column % side] =
                  factor<T>(b_tap[(first_column + column) * b_column + (first + s) * b_term], arguments.w_op);
          });
          __syncthreads();
          accumulate<T>(lds, steps, live, sums);
          __syncthreads();
        }
      }
  store_tile<T>(lds, sums, c, d, arguments, first_column, columns, Pass::c(shape).column);
}

// ---- bwd_weight: rows are k, columns c, a block has one tap; the reduction runs over images, then positions

// The output positions [begin, begin + length) whose window at tap f lies inside the image.
struct Interval {
  int64_t begin, length;
};

BITGATE_HD inline Interval positions_at(const ConvShape& shape, int axis, int64_t f) {
  const int64_t shift = shape.left_pad[axis] - f * shape.dilation[axis], stride = shape.stride[axis];
  const int64_t begin = shift > 0 ? (shift + stride - 1) / stride : 0;
  const int64_t last = shape.input[axis] - 1 + shift;
  int64_t end = last < 0 ? 0 : last / stride + 1;
  end = end < shape.output[axis] ? end : shape.output[axis];
  return {begin, end > begin ? end - begin : 0};
}

template <class T>
__global__ void __launch_bounds__(block_size)
    kernel_tile_weight(const typename T::Y* dy, const typename T::X* x, typename T::W* dw,
                       const typename T::W* d, Arguments arguments) {
  BITGATE_LDS(TileLds<T>, lds);
  const ConvShape& shape = arguments.shape;
  const int thread = static_cast<int>(threadIdx.x);
  int64_t tile = blockIdx.x;
  const int64_t first_column = tile % tiles_of(shape.c) * tile_side;
  tile /= tiles_of(shape.c);
  const int64_t first_row = tile % tiles_of(shape.k) * tile_side;
  tile /= tiles_of(shape.k);
  Cell tap{0, 0, 0, {}};
  Interval range[axes];
  int64_t terms = shape.images;
  for (int axis = axes - 1; axis >= 0; --axis) {
    tap.at[axis] = tile % shape.filter[axis];
    tile /= shape.filter[axis];
    range[axis] = positions_at(shape, axis, tap.at[axis]);
    terms *= range[axis].length;
  }
  const int64_t group = tap.group = tile;
  if (thread < tile_side) {
    Cell cell = tap;
    cell.row = first_row + thread;
    lds.result[thread] = cell.row < shape.k ? offset_of(cell, shape.w) : -1;
    lds.d[thread] = offset_of(cell, arguments.d);
  }

  const Elementwise pass{};
  const bool live[side] = {true, true, true, true};
  TileSums<T> sums{};
  for (int64_t first = 0; first < terms; first += tile_steps) {
    const int steps = terms - first < tile_steps ? static_cast<int>(terms - first) : tile_steps;
    if (thread < steps) {
      int64_t rest = first + thread;
      Cell at_y{group, 0, 0, {}}, at_x = at_y;
      for (int axis = axes - 1; axis >= 0; --axis) {
        at_y.at[axis] = range[axis].begin + rest % range[axis].length;
        rest /= range[axis].length;
        input_at(shape, axis, at_y.at[axis], tap.at[axis], at_x.at[axis]);
      }
      at_y.row = at_x.row = rest;
      lds.a_step[thread] = offset_of(at_y, shape.y);
      lds.b_step[thread] = offset_of(at_x, shape.x);
    }
    __syncthreads();
    each_of_tile(false, [&](int s, int row) {
      if (s < steps && first_row + row < shape.k)
        lds.a[s][row / side].value[row % side] =
            factor<T>(dy[lds.a_step[s] + (first_row + row) * shape.y.column], pass);
    });
    each_of_tile(false, [&](int s, int column) {
      if (s < steps && first_column + column < shape.c)
        lds.b[s][column / side].value[column % side] =
            factor<T>(x[lds.b_step[s] + (first_column + column) * shape.x.column], arguments.x_op);
    });
    __syncthreads();
    accumulate<T>(lds, steps, live, sums);
  }
  __syncthreads();
  store_tile<T>(lds, sums, dw, d, arguments, first_column, shape.c, shape.w.column);
}

// Blocks that the tiled kernel of an operation takes.
template <class T> int64_t tiles_of_pass(int32_t operation, const ConvShape& shape) {
  switch (operation) {
  case BITGATE_FWD:
    return shape.groups * tiles_of(ForwardTile<T>::rows(shape)) * tiles_of(shape.k);
  case BITGATE_BWD_DATA:
    return shape.groups * tiles_of(BackwardDataTile<T>::rows(shape)) * tiles_of(shape.c);
  default:
    return shape.groups * bitgate::product(shape.filter) * tiles_of(shape.k) * tiles_of(shape.c);
  }
}

} // namespace naive_conv
