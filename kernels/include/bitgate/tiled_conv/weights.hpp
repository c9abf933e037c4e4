// Backward weight in tiles: rows are k, columns c, a block has one tap; the reduction runs over images, then
// positions.
#pragma once

#include "tiles.hpp"

namespace bitgate::tiled_conv {

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
  Transfer<T, Tile, typename T::Y, typename T::FactorY> a_transfer{Share<Tile>(false), pass, {}};
  Transfer<T, Tile, typename T::X, typename T::FactorX> b_transfer{Share<Tile>(false), arguments.x_op, {}};
  const typename T::Y* a_row[Tile::loads];
  const typename T::X* b_row[Tile::loads];
  for (int load = 0; load < Tile::loads; ++load) {
    const int64_t row = first_row + a_transfer.share.cell_of(load);
    const int64_t column = first_column + b_transfer.share.cell_of(load);
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
        lds.slices, turn, known, a_transfer,
        [&](int load, int64_t term) { return a_row[load] ? a_row[load] + lds.a_step[term] : nullptr; },
        b_transfer,
        [&](int load, int64_t term) { return b_row[load] ? b_row[load] + lds.b_step[term] : nullptr; }, live,
        sums);
  }
  __syncthreads();
  store_tile<T, Tile>(lds.cells, sums, dw, d, arguments, first_column, shape.c, shape.w.column);
}

} // namespace bitgate::tiled_conv
