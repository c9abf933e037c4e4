// What families of kernels on rows share: a block of 256 threads has one row, or each of its waves has one.
// Blocks take further rows in turn where the grid is smaller than there are rows.
#pragma once

#include <deque>
#include <string>

#include "bitgate/grid.hpp"
#include "bitgate/lds.hpp"
#include "bitgate/rows.hpp"

namespace bitgate {

inline constexpr int row_block = 256;

inline constexpr Option row_options[] = {
    {"most_blocks", "int", "16384", "blocks of a launch: further rows are taken in turns", 1, 1 << 20},
};

// What has a row.
enum class RowWay { block, wave };
inline constexpr const char* row_ways[] = {"block", "wave"};

// Rows that a block has at once.
template <RowWay way, int wave>
inline constexpr int rows_at_once = way == RowWay::block ? 1 : row_block / wave;

// The row of a thread's block or wave that comes first, the step to the next one, and its cells first, first
// + step, ...
template <RowWay way, int wave> struct RowTurn {
  static constexpr int step = row_block / rows_at_once<way, wave>;
  int first = static_cast<int>(threadIdx.x) % step;
  int64_t row =
      static_cast<int64_t>(blockIdx.x) * rows_at_once<way, wave> + static_cast<int>(threadIdx.x) / step;
  int64_t rows_step = static_cast<int64_t>(gridDim.x) * rows_at_once<way, wave>;
};

// Over the lanes of a wave; each lane gets the result. A Partial has `merged(other)` and
// `from_lane(distance)`.
template <int wave, class Partial> __device__ inline Partial over_wave(Partial partial) {
  for (int distance = wave / 2; distance > 0; distance /= 2)
    partial = partial.merged(partial.from_lane(distance));
  return partial;
}

template <class Partial, int waves> struct OfWaves {
  Partial at[waves];
};

// Over the threads of a block; each gets the result. `lds` may be used again at once.
template <int wave, class Partial, class Lds>
__device__ inline Partial over_block(Partial partial, Lds& lds) {
  constexpr int waves = row_block / wave;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % wave;
  partial = over_wave<wave>(partial);
  if (lane == 0)
    lds.at[thread / wave] = partial;
  __syncthreads(); // all waves have written
  partial = lds.at[0];
  for (int other = 1; other < waves; ++other)
    partial = partial.merged(lds.at[other]);
  __syncthreads(); // all threads have read
  return partial;
}

template <RowWay way, int wave> dim3 row_grid(int64_t rows, const Options& options) {
  const int64_t blocks = ceil_div(rows, rows_at_once<way, wave>), most = options.integer("most_blocks");
  return dim3(static_cast<unsigned>(blocks < most ? blocks : most));
}

// Named like f16_block_w32, with `prefix` before it; it lives as long as the program, as `dtype` does.
template <class Problem, RowWay way, int wave>
Instance<Problem> row_instance(const char* operation, const char* dtype, const char* prefix = "") {
  static std::deque<std::string> names; // of each type and operation; a deque moves none
  Instance<Problem> made{};
  made.name = names
                  .emplace_back(std::string(prefix) + dtype + "_" + row_ways[static_cast<int>(way)] +
                                (wave == 32 ? "_w32" : ""))
                  .c_str();
  made.operation = operation;
  made.dtypes = dtype;
  made.layouts = "";
  made.accumulator = "f32";
  made.tile[0] = rows_at_once<way, wave>, made.tile[1] = 1,
  made.tile[2] = row_block / rows_at_once<way, wave>;
  made.vector[0] = made.vector[1] = made.vector[2] = 1;
  made.block_size = row_block;
  made.wave_size = wave;
  made.workspace_bytes = no_workspace;
  return made;
}

} // namespace bitgate
