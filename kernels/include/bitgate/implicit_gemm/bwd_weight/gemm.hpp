// Grouped convolution, backward weight: dw[g,k,c,f] = op( sum_{n,o} dy[g,n,k,o] * x[g,n,c,i], d[g,k,c,f] ) as
// an implicit GEMM (geometry.hpp).
//
// One block computes one Tile::M x Tile::N tile of one group (blockIdx.y) over one slice of the reduction
// (blockIdx.z). For each Tile::K terms it loads a tile of dy (A) and of x (B) into LDS; dy is turned on its
// way, for k is what lies contiguous in memory. The sums go to dw, or to a workspace of floats that
// finish.hpp turns into dw.
//
// Needs: unit stride of k in dy and of c in x and w (of groups where they are merged); K a multiple of
// Vector::A, C of Vector::B and Vector::C; vectors aligned; what the specialisation asserts (support.hpp
// checks). Offsets are 64-bit.
#pragma once

#include "bitgate/atomic.hpp"
#include "bitgate/implicit_gemm/epilogue.hpp"
#include "bitgate/implicit_gemm/operands.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"
#include "geometry.hpp"

namespace bitgate::implicit_gemm::bwd_weight {

// An instance: a tiling, what it may take for granted, and how many groups make one GEMM.
template <Specialisation special_, class Tiling_, int Merge_ = 1> struct Variant : Tiling_ {
  static constexpr Specialisation special = special_;
  static constexpr int merge = Merge_;
};

// Where a block stands: which tile of which group, and which slice of the reduction.
struct Place {
  int32_t first_row, first_column;
  int64_t group; // the first one, where groups are merged
  int32_t slice;
};

template <class Variant> __device__ __forceinline__ Place place_of_block(const Geometry& geometry) {
  const auto block = static_cast<int>(blockIdx.x);
  const int column_blocks = (columns_of(geometry) + Variant::Tile::N - 1) / Variant::Tile::N;
  return {block / column_blocks * Variant::Tile::M, block % column_blocks * Variant::Tile::N,
          static_cast<int64_t>(blockIdx.y) * Variant::merge, static_cast<int32_t>(blockIdx.z)};
}

// What one of Threads threads moves of the operands: terms downwards, vectors along k and c.
template <class Variant, int Threads> class Source {
  using Tile = typename Variant::Tile;
  using Vector = typename Variant::Vector;
  using A = typename Variant::FactorA;
  using B = typename Variant::FactorB;

public:
  using CoverA = Cover<Tile::K, Tile::M, Vector::A, Threads>;
  using CoverB = Cover<Tile::K, Tile::N, Vector::B, Threads>;
  using Stage = OperandStage<Variant, CoverA, CoverB>;
  // Rings take rows that lie evenly apart without walking from position to position. Loops that hold what
  // they load in registers have none left for a second way.
  static constexpr bool has_even_way = is_ring<Variant>;

  BITGATE_HD __forceinline__ Source(const Geometry& geometry, const Place& place, int32_t first_term,
                                    int thread, const typename Variant::ElementA* dy,
                                    const typename Variant::ElementB* x)
      : geometry_(geometry), thread_(thread) {
    const int32_t k = place.first_row + CoverA::column(thread);
    const int32_t n = place.first_column + CoverB::column(thread);
    const Layout& y = geometry.dy;
    dy_ = k < geometry.k ? dy + offset_of(y, {place.group}) + k : nullptr;
    const int32_t term_a = first_term + CoverA::row(thread, 0);
    if (has_even_way && geometry.apart_dy != 0) {
      a_ = even_walk_at(term_a, geometry.apart_dy);
      pace_a_ = even_pace_of(geometry, CoverA::rows, geometry.apart_dy);
    } else {
      a_.row = row_at(geometry, term_a);
      a_.offset = offset_of(y, cell_of(0, a_.row.image, a_.row.position));
      pace_a_ = pace_of(geometry, CoverA::rows, y.row, y.spatial);
    }
    x_ = nullptr;
    if (n >= columns_of(geometry))
      return;
    const Column column = column_at(geometry, n);
    x_ = x + offset_of(geometry.x, {place.group}) + column.c;
    for (int axis = 0; axis < axes; ++axis)
      shift_[axis] = column.f[axis] * geometry.axis[axis].dilation;
    const int32_t term_b = first_term + CoverB::row(thread, 0);
    if (has_even_way && geometry.apart_x != 0) {
      b_ = even_walk_at(term_b, geometry.apart_x);
      pace_b_ = even_pace_of(geometry, CoverB::rows, geometry.apart_x);
      return;
    }
    b_.row = row_at(geometry, term_b);
    b_.offset = x_offset(b_.row);
    int64_t strides[axes];
    for (int axis = 0; axis < axes; ++axis)
      strides[axis] = geometry.x.spatial[axis] * geometry.axis[axis].stride;
    pace_b_ = pace_of(geometry, CoverB::rows, geometry.x.row, strides);
  }

  BITGATE_HD __forceinline__ int thread_of() const { return thread_; }

  BITGATE_SHARED_PART void fetch(Stage& stage) {
    visit_a([&stage](int pass, bool is_there, const auto* from) {
      stage.a[pass] = read_or_clear<A, Vector::A>(is_there, from);
    });
    visit_b([&stage](int pass, bool is_there, const auto* from) {
      stage.b[pass] = read_or_clear<B, Vector::B>(is_there, from);
    });
  }

  // Of terms past the end and cells in the padding there is none. Both leave their walks at the next step.
  template <class Visit> BITGATE_HD __forceinline__ void visit_a(Visit visit) {
    if (has_even_way && pace_a_.is_even) {
      for (int pass = 0; pass < CoverA::passes; ++pass, advance(a_, pace_a_))
        visit(pass, (dy_ != nullptr) & (a_.row.image < pace_a_.images), dy_ + a_.offset);
      return;
    }
    if (branches_are_cheap && dy_ == nullptr)
      return visit_nothing<CoverA::passes>(dy_, visit);
    Walk at = a_;
    BITGATE_UNROLL(walks_a)
    for (int pass = 0; pass < CoverA::passes; ++pass, advance(geometry_, at, pace_a_)) {
      const bool is_term = (dy_ != nullptr) & (at.row.image < pace_a_.images);
      visit(pass, is_term, dy_ + at.offset);
    }
    a_ = at;
  }
  template <class Visit> BITGATE_HD __forceinline__ void visit_b(Visit visit) {
    if (has_even_way && pace_b_.is_even) {
      for (int pass = 0; pass < CoverB::passes; ++pass, advance(b_, pace_b_))
        visit(pass, (x_ != nullptr) & (b_.row.image < pace_b_.images), x_ + b_.offset);
      return;
    }
    if (branches_are_cheap && x_ == nullptr)
      return visit_nothing<CoverB::passes>(x_, visit);
    Walk at = b_;
    BITGATE_UNROLL(walks_b)
    for (int pass = 0; pass < CoverB::passes; ++pass, advance(geometry_, at, pace_b_)) {
      const bool is_cell = is_inside(at.row) & (x_ != nullptr) & (at.row.image < pace_b_.images);
      visit(pass, is_cell, x_ + at.offset);
    }
    b_ = at;
    expect_reads<CoverB::passes>(x_ + at.offset, pace_b_.offset);
  }
  BITGATE_HD __forceinline__ void next() {}

  BITGATE_HD __forceinline__ void store(const Stage& stage, typename Variant::Operands& tiles) const {
    store_vectors<CoverB, Variant::pitch_b>(stage.b, thread_, tiles.b);
    if constexpr (Variant::turned_a)
      return store_vectors<CoverA, Variant::pitch_a>(stage.a, thread_, tiles.a);
    for (int pass = 0; pass < CoverA::passes; ++pass)
      store_turned<CoverA, Variant::pitch_a>(stage.a[pass], CoverA::row(thread_, pass),
                                             CoverA::column(thread_), tiles.a);
  }

private:
  template <int passes, class Pointer, class Visit>
  static BITGATE_HD __forceinline__ void visit_nothing(Pointer null, Visit visit) {
    for (int pass = 0; pass < passes; ++pass)
      visit(pass, false, null);
  }
  BITGATE_HD __forceinline__ int32_t x_at(const Row& term, int axis) const {
    return input_at<Variant::special>(geometry_.axis[axis], term.position[axis]) + shift_[axis];
  }
  BITGATE_HD __forceinline__ int64_t x_offset(const Row& term) const {
    int32_t at[axes];
    for (int axis = 0; axis < axes; ++axis)
      at[axis] = x_at(term, axis);
    const int64_t offset = offset_of(geometry_.x, cell_of(0, term.image, at));
    return offset;
  }
  // False where the tap falls into the padding.
  BITGATE_HD __forceinline__ bool is_inside(const Row& term) const {
    bool inside = true;
    if constexpr (!is_pointwise(Variant::special)) {
      BITGATE_NO_LOOP(3)
      for (int axis = 0; axis < axes; ++axis)
        inside &= is_within(x_at(term, axis), geometry_.axis[axis].input); // no branch
    }
    return inside;
  }

  // Rounds of a loop over walks at once. Where the visit is a copy that runs by itself one will do: nvcc
  // would make unrolled walks part of the main loop for even rows, too.
  static constexpr bool is_rolled = is_ring<Variant> && loads_factors_ahead;
  static constexpr int walks_a = is_rolled ? 1 : CoverA::passes, walks_b = is_rolled ? 1 : CoverB::passes;

  const Geometry& geometry_;
  int thread_;
  Walk a_, b_ = {}; // the thread's next vectors
  Pace pace_a_, pace_b_ = {};
  int32_t shift_[axes] = {};
  const typename Variant::ElementA* dy_; // at the thread's k; null past the last
  const typename Variant::ElementB* x_;  // at the thread's tap and c; null past the last
};

// The steps of the block's slice, in units of Tile::K terms.
template <class Variant>
BITGATE_HD __forceinline__ Slice slice_of_block(const Geometry& geometry, const Place& place) {
  const int32_t steps = (terms_of(geometry) + Variant::Tile::K - 1) / Variant::Tile::K;
  return slice_of(steps, geometry.slices, place.slice);
}

// ---- where sums go
// -------------------------------------------------------------------------------------------------

// Cells of the first Rows rows of the tile in vectors along c: visit(row of dw, column n, what it stands for,
// sums). Thread of Threads.
template <class Variant, int Threads, int Rows = Variant::Tile::M, class Visit>
__device__ __forceinline__ void for_each_vector(const typename Variant::Sum* tile, const Geometry& geometry,
                                                const Place& place, int thread, Visit visit) {
  using CoverC = Cover<Rows, Variant::Tile::N, Variant::Vector::C, Threads>;
  const int column = CoverC::column(thread);
  const int32_t n = place.first_column + column;
  if (n >= columns_of(geometry))
    return;
  const Column at = column_at(geometry, n);
  for (int pass = 0; pass < CoverC::passes; ++pass) {
    const int row = CoverC::row(thread, pass);
    const int32_t k = place.first_row + row;
    if (k < geometry.k)
      visit(k, n, at, tile + row * Variant::pitch_c + column);
  }
}

// A cell of the tile in dw; is_kept: of merged groups, it is one of the same group.
struct ResultCell {
  Cell cell;
  bool is_kept;
};

template <class Variant>
__device__ __forceinline__ ResultCell result_cell(const Place& place, int32_t k, const Column& column) {
  Cell cell = cell_of(place.group, k, column.f);
  if constexpr (Variant::merge > 1)
    cell.group += k, cell.row = 0;
  else
    cell.column = column.c;
  return {cell, Variant::merge == 1 || k == column.c};
}

// Where it lies. Channels of dw are neighbours.
BITGATE_HD __forceinline__ int64_t dw_offset(const Geometry& geometry, const Cell& cell) {
  Cell first = cell;
  first.column = 0;
  return offset_of(geometry.w, first) + cell.column;
}

// Sums to dw, through the operation.
template <class Variant, int Threads, int Rows = Variant::Tile::M>
__device__ __forceinline__ void
store_result(const typename Variant::Sum* tile, const Geometry& geometry, const Place& place, int thread,
             const typename Variant::ElementC* cells_of_d, typename Variant::ElementC* dw) {
  const DCell<typename Variant::ElementC> d(cells_of_d, geometry.op);
  constexpr int vector = Variant::Vector::C;
  static_assert(Variant::merge == 1 || vector == 1, "merged groups keep single cells");
  for_each_vector<Variant, Threads, Rows>(
      tile, geometry, place, thread,
      [&](int32_t k, int32_t, const Column& column, const typename Variant::Sum* sums) {
        const ResultCell at = result_cell<Variant>(place, k, column);
        if (!at.is_kept)
          return;
        typename Variant::ElementC values[vector];
        finish_vector(sums, geometry.op, d + offset_of(geometry.d, at.cell), geometry.d.column, values);
        write_vector(dw + dw_offset(geometry, at.cell), values);
      });
}

// Sums of a slice, added to what the other slices add to a cleared dw. There is no atomic addition of bytes.
template <class Variant, int Threads, int Rows = Variant::Tile::M>
__device__ __forceinline__ void add_to_result(const typename Variant::Sum* tile, const Geometry& geometry,
                                              const Place& place, int thread,
                                              typename Variant::ElementC* dw) {
  using C = typename Variant::ElementC;
  constexpr int vector = Variant::Vector::C;
  if constexpr (sizeof(C) > 1)
    for_each_vector<Variant, Threads, Rows>(
        tile, geometry, place, thread,
        [&](int32_t k, int32_t, const Column& column, const typename Variant::Sum* sums) {
          const ResultCell at = result_cell<Variant>(place, k, column);
          if (!at.is_kept)
            return;
          C values[vector];
          round_vector(sums, values);
          atomic_add(dw + dw_offset(geometry, at.cell), values);
        });
}

// Sums to the workspace: for each group and row of dw the cells [tap][c], without gaps.
template <class Variant, int Threads>
__device__ __forceinline__ void store_partial(const float* tile, const Geometry& geometry, const Place& place,
                                              int thread, float* workspace) {
  constexpr int vector = Variant::Vector::C;
  for_each_vector<Variant, Threads, Variant::rows>(
      tile, geometry, place, thread, [&](int32_t k, int32_t n, const Column&, const float* sums) {
        Layout rows = packed_layout(geometry.k, columns_of(geometry));
        Cell cell{place.group, k, n};
        if constexpr (Variant::merge > 1) {
          static_assert(vector == 1, "merged groups keep single cells");
          if (k != n % geometry.c)
            return;
          rows = packed_layout(1, taps_of(geometry));
          cell = {place.group + k, 0, n / geometry.c};
        }
        float* to = workspace + offset_of(rows, cell);
        float values[vector];
        for (int i = 0; i < vector; ++i)
          values[i] = sums[i];
        if (geometry.slices > 1)
          atomic_add(to, values);
        else
          for (int i = 0; i < vector; ++i)
            to[i] = values[i];
      });
}

// ---- kernels
// -------------------------------------------------------------------------------------------------------

// The sums of the block's tile; false if its slice is empty.
template <class Variant, MainLoop loop>
__device__ __forceinline__ bool
sum_tile(const typename Variant::ElementA* dy, const typename Variant::ElementB* x, const Geometry& geometry,
         const Place& place, typename Variant::Lds& lds, Sums<Variant>& sums) {
  const auto thread = static_cast<int>(threadIdx.x);
  const Slice slice = slice_of_block<Variant>(geometry, place);
  if (slice.count == 0)
    return false;
  Source<Variant, Variant::block> source(geometry, place, slice.first * Variant::Tile::K, thread, dy, x);
  sum_steps<Variant, loop>(source, slice.count, thread, lds, sums);
  return true;
}

// Where the rows of a round stand.
template <class Variant> __device__ __forceinline__ Place place_of_round(const Place& place, int round) {
  Place part = place;
  part.first_row += round * Variant::rows;
  return part;
}

// One stage: sums go to dw.
template <class Variant, MainLoop loop>
__global__ void BITGATE_LAUNCH_BOUNDS(Variant::block, blocks_at_once<Variant>())
    kernel_to_result(const typename Variant::ElementA* dy, const typename Variant::ElementB* x,
                     const typename Variant::ElementC* d, typename Variant::ElementC* dw, Geometry geometry) {
  using Lds = typename Variant::Lds;
  BITGATE_LDS(Lds, lds);
  const auto thread = static_cast<int>(threadIdx.x);
  const Place place = place_of_block<Variant>(geometry);
  Sums<Variant> sums;
  if (!sum_tile<Variant, loop>(dy, x, geometry, place, lds, sums))
    return;
  const Geometry& late = loaded_here(geometry);
  for (int round = 0; round < Variant::rounds; ++round) {
    share_sums<Variant>(sums, round, thread, lds);
    const Place part = place_of_round<Variant>(place, round);
    if (late.slices > 1)
      add_to_result<Variant, Variant::block, Variant::rows>(lds.c, late, part, thread, dw);
    else
      store_result<Variant, Variant::block, Variant::rows>(lds.c, late, part, thread, d, dw);
  }
}

// First of two stages: sums go to the workspace.
template <class Variant, MainLoop loop>
__global__ void BITGATE_LAUNCH_BOUNDS(Variant::block, blocks_at_once<Variant>())
    kernel_to_workspace(const typename Variant::ElementA* dy, const typename Variant::ElementB* x,
                        float* workspace, Geometry geometry) {
  using Lds = typename Variant::Lds;
  BITGATE_LDS(Lds, lds);
  const auto thread = static_cast<int>(threadIdx.x);
  const Place place = place_of_block<Variant>(geometry);
  Sums<Variant> sums;
  if (!sum_tile<Variant, loop>(dy, x, geometry, place, lds, sums))
    return;
  for (int round = 0; round < Variant::rounds; ++round) {
    share_sums<Variant>(sums, round, thread, lds);
    store_partial<Variant, Variant::block>(lds.c, loaded_here(geometry),
                                           place_of_round<Variant>(place, round), thread, workspace);
  }
}

} // namespace bitgate::implicit_gemm::bwd_weight
