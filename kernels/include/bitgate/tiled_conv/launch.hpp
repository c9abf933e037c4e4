// The launch of a pass in tiles.
#pragma once

#include "bitgate/launch.hpp"
#include "positions.hpp"
#include "weights.hpp"

namespace bitgate::tiled_conv {

// Blocks that the tiled kernel of an operation takes.
template <class T, class Tile> int64_t tiles_of_pass(Pass pass, const ConvShape& shape) {
  switch (pass) {
  case Pass::fwd:
    return shape.groups * tiles_of<Tile>(ForwardTile<T>::rows(shape)) * tiles_of<Tile>(shape.k);
  case Pass::bwd_data:
    return shape.groups * tiles_of<Tile>(BackwardDataTile<T>::rows(shape)) * tiles_of<Tile>(shape.c);
  default:
    return shape.groups * product(shape.filter) * tiles_of<Tile>(shape.k) * tiles_of<Tile>(shape.c);
  }
}

// Blocks launched.
template <class T, class Tile>
unsigned run_tiles(const ConvRequest& request, const Buffers& buffers, const Arguments& arguments,
                   Context& context) {
  const Pass pass = request.problem.pass;
  const dim3 grid(static_cast<unsigned>(tiles_of_pass<T, Tile>(pass, arguments.shape)));
  const dim3 block(Tile::threads);
  auto* x = static_cast<typename T::X*>(buffers.in);
  auto* w = static_cast<typename T::W*>(buffers.wei);
  auto* y = static_cast<typename T::Y*>(buffers.out);
  const void* d = buffers.d[0];
  switch (pass) {
  case Pass::fwd:
    launch(context, "naive_fwd_tile", kernel_tile<T, ForwardTile<T>, Tile>, grid, block, 0, x, w, y,
           static_cast<const typename T::Y*>(d), arguments);
    break;
  case Pass::bwd_data:
    launch(context, "naive_bwd_data_tile", kernel_tile<T, BackwardDataTile<T>, Tile>, grid, block, 0, y, w, x,
           static_cast<const typename T::X*>(d), arguments);
    break;
  default:
    launch(context, "naive_bwd_weight_tile", kernel_tile_weight<T, Tile>, grid, block, 0, y, x, w,
           static_cast<const typename T::W*>(d), arguments);
  }
  return grid.x;
}

} // namespace bitgate::tiled_conv
