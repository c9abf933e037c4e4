// The same sums in the same order as naive_conv.hpp, a tile of cells a block: operands go through LDS, each
// thread keeps side x side sums in registers, so that a term costs one fma instead of two loads from memory.
// On GPUs this is what makes the naive kernels a reference for large cases.
//
// Rows of a tile are positions of the result (bwd_weight: its k), columns its channels. What a cell sums, and
// in which order, is that of the kernels of one thread a cell: terms outside a tensor are skipped row by row.
#pragma once

#include "bitgate/lds.hpp"
#include "naive_conv.hpp"

namespace naive_conv {

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
        sums.cell[i][j] = bitgate::fused(a.value[i], b.value[j], sums.cell[i][j]);
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
__device__ __forceinline__ void add_slice(const Slice& a, const Slice& b, int steps,
                                          const bool (&live)[Tile::side], TileSums<T, Tile>& sums) {
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
template <class T, class Tile, class Element> struct Courier {
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

  template <class Slice> __device__ __forceinline__ void put(Slice& slice) const {
    for (int load = 0; load < Tile::loads; ++load) {
      const int cell = share.cell_of(load);
      slice[share.step_of(load)][cell / Tile::side].value[cell % Tile::side] = factor<T>(held[load], op);
    }
  }
};

// sums += `terms` terms in order. While a slice is multiplied the next one is on its way. `turn` counts
// slices.
template <class T, class Tile, class A, class B, class AtA, class AtB>
__device__ __forceinline__ void accumulate(Slices<T, Tile>& lds, int& turn, int64_t terms,
                                           Courier<T, Tile, A>& a, AtA at_a, Courier<T, Tile, B>& b, AtB at_b,
                                           const bool (&live)[Tile::side], TileSums<T, Tile>& sums) {
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
__device__ __forceinline__ void store_tile(const Cells<Tile>& lds, const TileSums<T, Tile>& sums,
                                           Element* result, const Element* d, const Arguments& arguments,
                                           int64_t first_column, int64_t columns, int64_t stride) {
  const int row = static_cast<int>(threadIdx.x) / Tile::lanes * Tile::side;
  const int64_t column = first_column + static_cast<int>(threadIdx.x) % Tile::lanes * Tile::side;
  for (int i = 0; i < Tile::side; ++i)
    for (int j = 0; j < Tile::side; ++j)
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
  Courier<T, Tile, typename Pass::A> a_courier{
      Share<Tile>(a_stride <= Pass::a(shape).spatial[axes - 1]), a_op, {}};
  Courier<T, Tile, typename Pass::B> b_courier{Share<Tile>(b_term <= b_column), arguments.w_op, {}};
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
          const int64_t row = lds.row[a_courier.share.cell_of(load)];
          const int64_t column = first_column + b_courier.share.cell_of(load);
          a_row[load] = row >= 0 ? a + row : nullptr;
          b_row[load] = column < columns ? b + offset_of(shape.w, tap) + column * b_column : nullptr;
        }
        accumulate<T, Tile>(
            lds.slices, turn, terms, a_courier,
            [&](int load, int64_t term) { return a_row[load] ? a_row[load] + term * a_stride : nullptr; },
            b_courier,
            [&](int load, int64_t term) { return b_row[load] ? b_row[load] + term * b_term : nullptr; }, live,
            sums);
      }
  store_tile<T, Tile>(lds.cells, sums, c, d, arguments, first_column, columns, Pass::c(shape).column);
}

// ---- bwd_weight: rows are k, columns c, a block has one tap; the reduction runs over images, then positions

// a / b, not negative. GPUs divide 64 bits step by step, 32 bits several times as fast.
BITGATE_HD inline int64_t divide(int64_t a, int64_t b) {
  return (a | b) >> 32 == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

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

inline constexpr int known_steps = 256; // steps whose places are worked out at once

template <class T, class Tile> struct TileWeightLds {
  Slices<T, Tile> slices;
  Cells<Tile> cells;
  int64_t a_step[known_steps], b_step[known_steps]; // where their operands begin
};

// Offsets of both operands at `term` of a tap's reduction.
BITGATE_HD inline void step_at(const ConvShape& shape, const Cell& tap, const Interval (&range)[axes],
                               int64_t term, int64_t& a_step, int64_t& b_step) {
  Cell at_y{tap.group, 0, 0, {}}, at_x = at_y;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int64_t rest = divide(term, range[axis].length);
    at_y.at[axis] = range[axis].begin + term - rest * range[axis].length;
    term = rest;
    input_at(shape, axis, at_y.at[axis], tap.at[axis], at_x.at[axis]);
  }
  at_y.row = at_x.row = term;
  a_step = offset_of(shape.y, at_y);
  b_step = offset_of(shape.x, at_x);
}

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::resident)
    kernel_tile_weight(const typename T::Y* dy, const typename T::X* x, typename T::W* dw,
                       const typename T::W* d, Arguments arguments) {
  using Lds = TileWeightLds<T, Tile>;
  BITGATE_LDS(Lds, lds);
  const ConvShape& shape = arguments.shape;
  const int thread = static_cast<int>(threadIdx.x);
  int64_t tile = blockIdx.x;
  const int64_t first_column = tile % tiles_of<Tile>(shape.c) * Tile::cells;
  tile /= tiles_of<Tile>(shape.c);
  const int64_t first_row = tile % tiles_of<Tile>(shape.k) * Tile::cells;
  tile /= tiles_of<Tile>(shape.k);
  Cell tap{0, 0, 0, {}};
  Interval range[axes];
  int64_t terms = shape.images;
  for (int axis = axes - 1; axis >= 0; --axis) {
    tap.at[axis] = tile % shape.filter[axis];
    tile /= shape.filter[axis];
    range[axis] = positions_at(shape, axis, tap.at[axis]);
    terms *= range[axis].length;
  }
  tap.group = tile;
  if (thread < Tile::cells) {
    Cell cell = tap;
    cell.row = first_row + thread;
    lds.cells.result[thread] = cell.row < shape.k ? offset_of(shape.w, cell) : -1;
    lds.cells.d[thread] = offset_of(arguments.d, cell);
  }

  const Elementwise pass{};
  Courier<T, Tile, typename T::Y> a_courier{Share<Tile>(false), pass, {}};
  Courier<T, Tile, typename T::X> b_courier{Share<Tile>(false), arguments.x_op, {}};
  const typename T::Y* a_row[Tile::loads];
  const typename T::X* b_row[Tile::loads];
  for (int load = 0; load < Tile::loads; ++load) {
    const int64_t row = first_row + a_courier.share.cell_of(load);
    const int64_t column = first_column + b_courier.share.cell_of(load);
    a_row[load] = row < shape.k ? dy + row * shape.y.column : nullptr;
    b_row[load] = column < shape.c ? x + column * shape.x.column : nullptr;
  }
  bool live[Tile::side];
  for (bool& row : live)
    row = true;
  TileSums<T, Tile> sums{};
  int turn = 0;
  for (int64_t first = 0; first < terms; first += known_steps) {
    const int64_t known = terms - first < known_steps ? terms - first : known_steps;
    for (int step = thread; step < known; step += Tile::threads)
      step_at(shape, tap, range, first + step, lds.a_step[step], lds.b_step[step]);
    __syncthreads();
    accumulate<T, Tile>(
        lds.slices, turn, known, a_courier,
        [&](int load, int64_t term) { return a_row[load] ? a_row[load] + lds.a_step[term] : nullptr; },
        b_courier,
        [&](int load, int64_t term) { return b_row[load] ? b_row[load] + lds.b_step[term] : nullptr; }, live,
        sums);
  }
  __syncthreads();
  store_tile<T, Tile>(lds.cells, sums, dw, d, arguments, first_column, shape.c, shape.w.column);
}

// Blocks that the tiled kernel of an operation takes.
template <class T, class Tile> int64_t tiles_of_pass(Pass pass, const ConvShape& shape) {
  switch (pass) {
  case Pass::fwd:
    return shape.groups * tiles_of<Tile>(ForwardTile<T>::rows(shape)) * tiles_of<Tile>(shape.k);
  case Pass::bwd_data:
    return shape.groups * tiles_of<Tile>(BackwardDataTile<T>::rows(shape)) * tiles_of<Tile>(shape.c);
  default:
    return shape.groups * bitgate::product(shape.filter) * tiles_of<Tile>(shape.k) * tiles_of<Tile>(shape.c);
  }
}

} // namespace naive_conv
