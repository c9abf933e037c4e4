// Copies a convolution tensor (group, row, channel, spatial...) from one layout to another, one of which has
// its channels last and the other its cells. A block takes tiles of side x side: it reads along the source's
// fastest dimension into LDS and writes along the destination's, so both are coalesced. Elements move as
// bits. Only cells are read and written, by strides: gaps stay as they are. Offsets are 64-bit.
#pragma once

#include "bitgate/conv_shape.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/launch.hpp"
#include "bitgate/lds.hpp"

namespace bitgate::implicit_gemm {

inline constexpr int transpose_side = 32;
inline constexpr int transpose_block = 256;
inline constexpr int64_t transpose_max_blocks = 2048; // each takes several tiles then

struct Transpose {
  int64_t rows, channels; // rows: images, or output channels of weights
  int64_t spatial[axes];
  int64_t cell_tiles, channel_tiles, tiles; // tiles: of all groups and rows
  Layout from, to;
};

// One column longer than the tile, so that a column of it lies in different banks.
template <class T> struct TransposeTile {
  T element[transpose_side][transpose_side + 1];
};

// Offset of a cell (row-major over the spatial axes) of channel 0.
BITGATE_HD __forceinline__ int64_t cell_offset(const Layout& layout, const int64_t (&spatial)[axes],
                                               int64_t cell) {
  Cell at;
  for (int axis = axes - 1; axis >= 0; --axis) {
    at.at[axis] = cell % spatial[axis];
    cell /= spatial[axis];
  }
  return offset_of(layout, at);
}

// The cell and channel of a tile that a thread moves in a pass. Threads of a line go along the fast
// dimension.
struct TransposePlace {
  int cell, channel;
};
template <bool AlongCells> BITGATE_HD __forceinline__ TransposePlace transpose_place(int thread, int pass) {
  const int along = thread % transpose_side;
  const int across = thread / transpose_side + pass * (transpose_block / transpose_side);
  return AlongCells ? TransposePlace{along, across} : TransposePlace{across, along};
}

template <class T, bool FromCells>
__global__ void __launch_bounds__(transpose_block) kernel_transpose(const T* from, T* to, Transpose shape) {
  constexpr int passes = transpose_side * transpose_side / transpose_block;
  using Tile = TransposeTile<T>;
  BITGATE_LDS(Tile, tile);
  const int64_t cells = shape.spatial[0] * shape.spatial[1] * shape.spatial[2];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t index = blockIdx.x; index < shape.tiles; index += gridDim.x) {
    const int64_t first_cell = index % shape.cell_tiles * transpose_side;
    const int64_t first_channel = index / shape.cell_tiles % shape.channel_tiles * transpose_side;
    const int64_t outer = index / shape.cell_tiles / shape.channel_tiles;
    const int64_t group = outer / shape.rows, row = outer % shape.rows;
    const T* source = from + offset_of(shape.from, {group, row});
    T* destination = to + offset_of(shape.to, {group, row});
    for (int pass = 0; pass < passes; ++pass) {
      const TransposePlace at = transpose_place<FromCells>(thread, pass);
      const int64_t cell = first_cell + at.cell, channel = first_channel + at.channel;
      if (cell < cells && channel < shape.channels)
        tile.element[at.cell][at.channel] =
            source[cell_offset(shape.from, shape.spatial, cell) + channel * shape.from.column];
    }
    __syncthreads(); // the tile is complete
    for (int pass = 0; pass < passes; ++pass) {
      const TransposePlace at = transpose_place<!FromCells>(thread, pass);
      const int64_t cell = first_cell + at.cell, channel = first_channel + at.channel;
      if (cell < cells && channel < shape.channels)
        destination[cell_offset(shape.to, shape.spatial, cell) + channel * shape.to.column] =
            tile.element[at.cell][at.channel];
    }
    __syncthreads(); // the tile is free again
  }
}

// ---- host side
// -----------------------------------------------------------------------------------------------------

inline Transpose make_transpose(const bitgate_tensor& from, const bitgate_tensor& to) {
  const int ndim = from.rank - 3;
  Transpose shape{};
  shape.rows = from.lengths[1], shape.channels = from.lengths[2];
  for (int axis = 0; axis < axes; ++axis)
    shape.spatial[axis] = axis < axes - ndim ? 1 : from.lengths[3 + axis - (axes - ndim)];
  const auto tiles = [](int64_t length) { return ceil_div(length, transpose_side); };
  shape.cell_tiles = tiles(product(shape.spatial));
  shape.channel_tiles = tiles(shape.channels);
  shape.tiles = from.lengths[0] * shape.rows * shape.channel_tiles * shape.cell_tiles;
  shape.from = layout_of(from, ndim), shape.to = layout_of(to, ndim);
  return shape;
}

template <class T, bool FromCells>
void launch_transpose(Context& context, const char* name, const Transpose& shape, const void* from,
                      void* to) {
  const int64_t blocks = shape.tiles < transpose_max_blocks ? shape.tiles : transpose_max_blocks;
  launch(context, name, kernel_transpose<T, FromCells>, dim3(static_cast<unsigned>(blocks)),
         dim3(transpose_block), 0, static_cast<const T*>(from), static_cast<T*>(to), shape);
}

// Same elements, other strides; of one, two or four bytes. `from_cells`: the source is the one with cells
// last.
inline void transpose(Context& context, const char* name, const bitgate_tensor& from_tensor, const void* from,
                      const bitgate_tensor& to_tensor, void* to, int element_bytes, bool from_cells) {
  const Transpose shape = make_transpose(from_tensor, to_tensor);
  const auto move = [&]<class T>(T) {
    from_cells ? launch_transpose<T, true>(context, name, shape, from, to)
               : launch_transpose<T, false>(context, name, shape, from, to);
  };
  switch (element_bytes) {
  case 1:
    return move(uint8_t{});
  case 2:
    return move(uint16_t{});
  default:
    return move(uint32_t{});
  }
}

} // namespace bitgate::implicit_gemm
