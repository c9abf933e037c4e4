// Where the cells of a tensor lie: an index expression over strides is written here, and nowhere else.
#pragma once

#include "bitgate/abi.h"
#include "bitgate/platform.hpp"

namespace bitgate {

inline constexpr int axes = 3; // spatial dimensions at most

// Strides in elements. `group`, `row`, `column` are those of the logical order: x (G,N,C), w (G,K,C), y
// (G,N,K); of a matrix, its batch, rows and columns.
struct Layout {
  int64_t group, row, column;
  int64_t spatial[axes];
};

// A cell by its coordinates. Those that are left out are 0, and cost nothing where that is known.
struct Cell {
  int64_t group = 0, row = 0, column = 0;
  int64_t at[axes] = {};
};

BITGATE_HD constexpr int64_t offset_of(const Layout& layout, const Cell& cell) noexcept {
  return cell.group * layout.group + cell.row * layout.row + cell.column * layout.column +
         cell.at[0] * layout.spatial[0] + cell.at[1] * layout.spatial[1] + cell.at[2] * layout.spatial[2];
}

// A matrix of `rows` x `columns` a group, without gaps.
BITGATE_HD constexpr Layout packed_layout(int64_t rows, int64_t columns) noexcept {
  return {rows * columns, columns, 1, {0, 0, 0}};
}

// The strides of the tensor's first three dimensions, and of `ndim` spatial ones behind them.
inline Layout layout_of(const bitgate_tensor& tensor, int ndim = 0) noexcept {
  Layout layout{tensor.strides[0], tensor.strides[1], tensor.strides[2], {0, 0, 0}};
  for (int i = 0; i < ndim; ++i)
    layout.spatial[axes - ndim + i] = tensor.strides[3 + i];
  return layout;
}

} // namespace bitgate
