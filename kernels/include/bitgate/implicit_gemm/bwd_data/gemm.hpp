// Grouped convolution, backward data, multiple D: dx[g,n,c,i] = op( sum_{k,f} dy[g,n,k,o] * w[g,k,c,f],
// d[g,n,c,i] ) as implicit GEMMs (geometry.hpp): rows are (image, window position), columns are input
// channels c, and the reduction runs over the taps of the sub-GEMM's class and, within a tap, over output
// channels k.
//
// One block computes one Tile::M x Tile::N tile of one sub-GEMM; blockIdx.y is the group, blockIdx.z the
// chunk of images (split-N) and the slice of the reduction (split-K). A step of the reduction is Tile::K
// channels of one tap: its tiles of dy (A) and of w (B) go to LDS, where the waves multiply fragments
// (pipeline.hpp). At the end the sums go through LDS, so that dx is written in vectors along c, or, where the
// reduction is split, added to what other slices have left there.
//
// Needs: unit stride of k in dy and of c in w and dx; K a multiple of Vector::A, C of Vector::B and
// Vector::C; vectors aligned (support.hpp checks). Rows past M, k past K, c past C and dy cells outside the
// output are loaded as zeros; dx cells outside the image are not written. Offsets are 64-bit.
#pragma once

#include "bitgate/atomic.hpp"
#include "bitgate/implicit_gemm/epilogue.hpp"
#include "bitgate/implicit_gemm/operands.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"
#include "geometry.hpp"

namespace bitgate::implicit_gemm::bwd_data {

// The place of one block: which tile of which sub-GEMM, of which images, and its share of the reduction.
struct Place {
  int64_t first_row;
  int32_t first_column;
  int32_t first_image;
  int32_t slice;
  int group;
  int thread;
};

// `block` counts within the sub-GEMM, columns fastest.
template <class Tiling> __device__ __forceinline__ Place place_of_block(const Geometry& geometry, int block) {
  const int column_blocks = (geometry.c + Tiling::Tile::N - 1) / Tiling::Tile::N;
  const auto z = static_cast<int32_t>(blockIdx.z);
  return {static_cast<int64_t>(block / column_blocks) * Tiling::Tile::M,
          block % column_blocks * Tiling::Tile::N,
          z / geometry.split_k * geometry.images,
          z % geometry.split_k,
          static_cast<int>(blockIdx.y),
          static_cast<int>(threadIdx.x)};
}

// One tap of the sub-GEMM: how far it moves dy and w.
struct Tap {
  int32_t shift[axes]; // dy cells, per axis
  int64_t dy_offset;   // to subtract
  int64_t w_offset;
};

BITGATE_HD __forceinline__ Tap tap_at(const Geometry& geometry, const SubGemm& gemm,
                                      const int32_t (&dot)[axes]) {
  Tap tap;
  Cell at_w;
  for (int axis = 0; axis < axes; ++axis) {
    tap.shift[axis] = geometry.axis[axis].step * dot[axis];
    at_w.at[axis] = gemm.tilde[axis] + static_cast<int64_t>(geometry.axis[axis].classes) * dot[axis];
  }
  tap.dy_offset = offset_of(geometry.dy, cell_of(0, 0, tap.shift));
  tap.w_offset = offset_of(geometry.w, at_w);
  return tap;
}

// Threads read w as it lies in LDS: rows k, vectors along c.
template <class Tiling>
using CoverB = Cover<Tiling::Tile::K, Tiling::Tile::N, Tiling::Vector::B, Tiling::block>;

// A thread's way through the steps of a tile's reduction (a Source of pipeline.hpp): channels fastest, then
// taps, the last axis first.
template <class Tiling> struct Steps {
  using CoverA = typename Tiling::CoverA;
  using CoverB = bwd_data::CoverB<Tiling>;
  using FactorA = typename Tiling::FactorA;
  using FactorB = typename Tiling::FactorB;
  using Vector = typename Tiling::Vector;
  using Stage = OperandStage<Tiling, CoverA, CoverB>;

  const Geometry& geometry;
  const SubGemm& gemm;
  const Place& place;
  const RowsOfA<CoverA::passes>& rows;
  const typename Tiling::ElementA* dy;
  const typename Tiling::ElementB* w_group;
  // Where it stands: the tap, its first channel, and where both lie at channel 0: dy cells by their offsets,
  // -1 outside the output.
  int32_t dot[axes];
  int32_t first_k;
  int64_t cells[CoverA::passes];
  const typename Tiling::ElementB* w_tap;

  BITGATE_HD __forceinline__ void start_at(int32_t step) {
    if (step == 0) // without divisions
      return find_cells();
    const int32_t steps_a_tap = steps_of_tap(geometry, Tiling::Tile::K);
    first_k = step % steps_a_tap * Tiling::Tile::K;
    int32_t tap = step / steps_a_tap;
    for (int axis = axes - 1; axis >= 0; --axis) {
      dot[axis] = tap % gemm.taps[axis];
      tap /= gemm.taps[axis];
    }
    find_cells();
  }

  BITGATE_HD __forceinline__ void next() {
    first_k += Tiling::Tile::K;
    if (first_k < geometry.k)
      return;
    first_k = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      if (++dot[axis] < gemm.taps[axis])
        break;
      dot[axis] = 0;
    }
    find_cells();
  }

  BITGATE_HD __forceinline__ void find_cells() {
    const Tap tap = tap_at(geometry, gemm, dot);
    w_tap = w_group + tap.w_offset;
    for (int pass = 0; pass < CoverA::passes; ++pass) {
      const auto& row = rows.row[pass];
      bool inside = true;
      for (int axis = 0; axis < axes; ++axis) {
        const int32_t o = row.at[axis] - tap.shift[axis];
        inside &= is_within(o, geometry.axis[axis].output); // no branch
      }
      cells[pass] = inside ? row.offset - tap.dy_offset : -1;
    }
  }

  BITGATE_HD __forceinline__ int thread_of() const { return place.thread; }

  BITGATE_HD __forceinline__ void fetch(Stage& stage) const {
    visit_a([&stage](int pass, bool is_there, const auto* from) {
      stage.a[pass] = read_or_clear<FactorA, Vector::A>(is_there, from);
    });
    visit_b([&stage](int pass, bool is_there, const auto* from) {
      stage.b[pass] = read_or_clear<FactorB, Vector::B>(is_there, from);
    });
  }

  // Rows of dy, channels first_k .. first_k + Tile::K, none outside.
  template <class Visit> BITGATE_HD __forceinline__ void visit_a(Visit visit) const {
    const int32_t k = first_k + CoverA::column(place.thread);
    const auto* from = dy + k;
    for (int pass = 0; pass < CoverA::passes; ++pass) {
      const int64_t cell = cells[pass];
      bool is_there = false;
      if (cell >= 0 && k < geometry.k)
        is_there = true;
      visit(pass, is_there, from + cell);
    }
  }

  // The same channels of one tap of w, columns c, none outside.
  template <class Visit> BITGATE_HD __forceinline__ void visit_b(Visit visit) const {
    const int32_t c = place.first_column + CoverB::column(place.thread);
    int32_t k = first_k + CoverB::row(place.thread, 0);
    const auto* from = (w_tap + offset_of(geometry.w, {.row = k}) + c);
    const int64_t next_row = offset_of(geometry.w, {.row = CoverB::rows});
    for (int pass = 0; pass < CoverB::passes; ++pass, k += CoverB::rows, from += next_row) {
      bool is_there = false;
      if (k < geometry.k && c < geometry.c)
        is_there = true;
      visit(pass, is_there, from);
    }
  }

  BITGATE_HD __forceinline__ void store(const Stage& stage, typename Tiling::Operands& tiles) const {
    store_vectors<CoverA, Tiling::pitch_a>(stage.a, place.thread, tiles.a);
    store_vectors<CoverB, Tiling::pitch_b>(stage.b, place.thread, tiles.b);
  }
};

// The dx cell of a row at channel 0; false if it lies outside the image, or the row past M.
BITGATE_HD __forceinline__ bool cell_of_row(const Geometry& geometry, const SubGemm& gemm, const Place& place,
                                            const Row& row, Cell& cell) {
  if (row.image >= geometry.images)
    return false;
  cell.group = place.group;
  cell.row = place.first_image + row.image;
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t i = dx_coordinate(geometry.axis[axis], gemm.tilde[axis], row.position[axis]);
    if (i < 0 || i >= geometry.axis[axis].input)
      return false;
    cell.at[axis] = i;
  }
  return true;
}

// The tile of sums, through the element-wise operation, to dx.
template <class Tiling>
__device__ __forceinline__ void
epilogue(const typename Tiling::Sum* tile, const Geometry& geometry, const SubGemm& gemm, const Place& place,
         const typename Tiling::ElementC* cells_of_d, typename Tiling::ElementC* dx) {
  using Cover = typename Tiling::CoverC;
  const int column = Cover::column(place.thread);
  const int32_t c = place.first_column + column;
  if (c >= geometry.c)
    return;
  if (geometry.op.kind == BITGATE_PASS && geometry.apart_dx != 0 && geometry.split_k == 1) {
    const int64_t first = place.first_row + Cover::row(place.thread, 0);
    auto* to = dx + offset_of(geometry.dx, {place.group, place.first_image}) + first * geometry.apart_dx + c;
    const int32_t count = rows_from(geometry, place.first_row, Cover::passes * Cover::rows);
    return write_even_rows<Cover, Tiling::pitch_c>(tile, place.thread, count, geometry.apart_dx, to);
  }
  Row at = row_at(geometry, place.first_row + Cover::row(place.thread, 0));
  const Row step = digits_of(geometry, Cover::rows);
  const DCell<typename Tiling::ElementC> d(cells_of_d, geometry.op);
  for (int pass = 0; pass < Cover::passes; ++pass, advance(geometry, at, step)) {
    const int row = Cover::row(place.thread, pass);
    Cell cell;
    if (!cell_of_row(geometry, gemm, place, at, cell))
      continue;
    auto* to = dx + offset_of(geometry.dx, cell) + c;
    cell.column = c;
    typename Tiling::ElementC values[Tiling::Vector::C];
    finish_vector(tile + row * Tiling::pitch_c + column, geometry.op, d + offset_of(geometry.d, cell),
                  geometry.d.column, values);
    if constexpr (sizeof *values > 1) // single bytes are not added atomically: no reduction to them is split
      if (geometry.split_k > 1) {
        atomic_add(to, values);
        continue;
      }
    write_vector(to, values);
  }
}

// One tile of one sub-GEMM. A block whose slice of the reduction is empty has nothing to add.
template <class Tiling, MainLoop loop>
BITGATE_SHARED_PART void run_tile(const typename Tiling::ElementA* dy, const typename Tiling::ElementB* w,
                                  const typename Tiling::ElementC* d, typename Tiling::ElementC* dx,
                                  const Geometry& geometry, const SubGemm& gemm, int block) {
  using Lds = typename Tiling::Lds;
  BITGATE_LDS(Lds, lds);
  const Place place = place_of_block<Tiling>(geometry, block);
  const Slice slice = slice_of(steps_of(geometry, gemm, Tiling::Tile::K), geometry.split_k, place.slice);
  if (slice.count == 0)
    return;
  const auto rows = rows_of_a<typename Tiling::CoverA, -1>(
      geometry, geometry.dy, geometry.apart_dy, place.first_row, place.group, place.first_image, place.thread,
      [](const Axis&, int32_t position) { return position; });
  const auto* w_group = w + offset_of(geometry.w, {place.group});
  Steps<Tiling> steps{geometry, gemm, place, rows, dy, w_group, {}, 0, {}, nullptr};
  steps.start_at(slice.first);
  Sums<Tiling> sums;
  sum_steps<Tiling, loop>(steps, slice.count, place.thread, lds, sums);
  for (int round = 0; round < Tiling::rounds; ++round) {
    share_sums<Tiling>(sums, round, place.thread, lds);
    Place part = place;
    part.first_row += round * Tiling::rows;
    epilogue<Tiling>(lds.c, loaded_here(geometry), loaded_here(gemm), part, d, dx);
  }
}

// Flat path: one sub-GEMM a launch.
template <class Tiling, MainLoop loop>
__global__ void BITGATE_LAUNCH_BOUNDS(Tiling::block, blocks_at_once<Tiling>())
    kernel_flat(const typename Tiling::ElementA* dy, const typename Tiling::ElementB* w,
                const typename Tiling::ElementC* d, typename Tiling::ElementC* dx, Geometry geometry,
                SubGemm gemm) {
  run_tile<Tiling, loop>(dy, w, d, dx, geometry, gemm, static_cast<int>(blockIdx.x));
}

// Grouped path: the blocks of up to max_bucket sub-GEMMs stand in a row; each finds the one that it belongs
// to. Their reductions differ in length, so some may run one step where others run many.
template <class Tiling, MainLoop loop>
__global__ void BITGATE_LAUNCH_BOUNDS(Tiling::block, blocks_at_once<Tiling>())
    kernel_grouped(const typename Tiling::ElementA* dy, const typename Tiling::ElementB* w,
                   const typename Tiling::ElementC* d, typename Tiling::ElementC* dx, Geometry geometry,
                   Bucket bucket) {
  const int block = static_cast<int>(blockIdx.x);
  int index = 0;
  while (index + 1 < bucket.count && block >= bucket.gemms[index + 1].first_block)
    ++index;
  const SubGemm& gemm = bucket.gemms[index];
  run_tile<Tiling, loop>(dy, w, d, dx, geometry, gemm, block - gemm.first_block);
}

} // namespace bitgate::implicit_gemm::bwd_data
