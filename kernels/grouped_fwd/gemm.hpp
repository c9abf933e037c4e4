// Grouped convolution, forward, multiple D: y[g,n,k,o] = op( sum_{f,c} x[g,n,c,i] * w[g,k,c,f], d[g,n,k,o] )
// as an implicit GEMM (geometry.hpp): rows are (image, output position), columns are output channels k, and
// the reduction runs over taps f and input channels c.
//
// One block computes one Tile::M x Tile::N tile; blockIdx.y is the group, blockIdx.z the chunk of images. For
// each Tile::K terms of the reduction (a step) the block loads a tile of x (A) and of w (B) into LDS, then
// its waves multiply fragments (pipeline.hpp). At the end the sums go through LDS, so that y is written in
// vectors along k. Every cell of y is written.
//
// Needs: unit stride of c in x and w and of k in y; C a multiple of Vector::A and Vector::B, K of Vector::C;
// vectors aligned; what the specialisation asserts (support.hpp checks). Rows past M, k past K, c past C and
// x cells in the padding are loaded as zeros. Offsets are 64-bit.
#pragma once

#include "bitgate/implicit_gemm/epilogue.hpp"
#include "bitgate/implicit_gemm/operands.hpp"
#include "bitgate/implicit_gemm/pipeline.hpp"
#include "geometry.hpp"

namespace grouped_fwd {

// An instance: a tiling, and what it may take for granted.
template <Specialisation special_, class Tiling_> struct Variant : Tiling_ {
  static constexpr Specialisation special = special_;
  // Threads read w as it lies in memory, rows k and vectors along c, and turn it on its way to LDS.
  using RowsOfW = Cover<Tiling_::Tile::N, Tiling_::Tile::K, Tiling_::Vector::B, Tiling_::block>;
  using CoverB = std::conditional_t<is_ring<Tiling_>, RingCover<RowsOfW>, RowsOfW>;
  static_assert(special != Specialisation::odd_c || (Tiling_::Vector::A == 1 && Tiling_::Vector::B == 1),
                "a vector of the merged reduction would straddle taps");
};

// The place of one block: which tile of which group and chunk.
struct Place {
  int64_t first_row;
  int32_t first_column;
  int32_t first_image;
  int group;
  int thread;
};

template <class Variant> __device__ __forceinline__ Place place_of_block(const Geometry& geometry) {
  const auto block = static_cast<int>(blockIdx.x);
  const int column_blocks = (geometry.k + Variant::Tile::N - 1) / Variant::Tile::N;
  const auto chunk = static_cast<int32_t>(blockIdx.z);
  return {static_cast<int64_t>(block / column_blocks) * Variant::Tile::M,
          block % column_blocks * Variant::Tile::N, chunk * geometry.images, static_cast<int>(blockIdx.y),
          static_cast<int>(threadIdx.x)};
}

// Where a thread stands in the reduction: its rows' x cells at channel 0 of a tap, a bit for each that is not
// in the padding, its first row of w there, and the channels at which its vectors begin.
template <class Variant> struct ReadPosition {
  const typename Variant::ElementA* cells[Variant::CoverA::passes];
  uint32_t inside;
  static_assert(Variant::CoverA::passes <= 32);
  const typename Variant::ElementB* w_tap;
  struct {
    int32_t c;
    bool inside;
  } a;
  struct {
    int32_t c;
    int32_t end_k; // 0 past the last channel, else K
  } b;
};

// A thread's way through the reduction (a Source of pipeline.hpp): what moves through a step, wherever it
// stands.
template <class Variant> struct Reader {
  using CoverA = typename Variant::CoverA;
  using CoverB = typename Variant::CoverB;
  using FactorA = typename Variant::FactorA;
  using FactorB = typename Variant::FactorB;
  using Vector = typename Variant::Vector;
  using Stage = OperandStage<Variant, CoverA, CoverB>;

  const Geometry& geometry;
  const Place& place;
  const RowsOfA<CoverA::passes>& rows;
  const typename Variant::ElementA* x;
  const typename Variant::ElementB* w_rows; // the thread's first row at the first tap
  ReadPosition<Variant> at;

  BITGATE_HD __forceinline__ void find_cells(const Tap& tap) {
    const auto* x_tap = x + tap.x_offset;
    at.inside = 0;
    for (int pass = 0; pass < CoverA::passes; ++pass) {
      const auto& row = rows.row[pass];
      bool inside = !is_pointwise(Variant::special) || row.at[0] >= 0;
      if constexpr (!is_pointwise(Variant::special))
        for (int axis = 0; axis < axes; ++axis) {
          const int32_t i = row.at[axis] + tap.shift[axis];
          inside &= is_within(i, geometry.axis[axis].input); // no branch
        }
      at.cells[pass] = x_tap + row.offset;
      at.inside |= static_cast<uint32_t>(inside) << pass;
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

  // The vector of each of the thread's rows of x, none outside.
  template <class Visit> BITGATE_HD __forceinline__ void visit_a(Visit visit) const {
    const uint32_t inside = at.a.inside ? at.inside : 0;
    for (int pass = 0; pass < CoverA::passes; ++pass)
      visit(pass, (inside >> pass & 1) != 0, at.cells[pass] + at.a.c);
  }

  // The vector of w for each of the thread's rows k, none outside.
  template <class Visit> BITGATE_HD __forceinline__ void visit_b(Visit visit) const {
    const int32_t first_k = place.first_column + CoverB::row(place.thread, 0);
    const auto* from = at.w_tap + at.b.c;
    const int64_t next_row = offset_of(geometry.w, {.row = CoverB::rows});
    for (int pass = 0; pass < CoverB::passes; ++pass, from += next_row)
      visit(pass, first_k + pass * CoverB::rows < at.b.end_k, from);
  }

  // A B tile that does not lie turned has a column for each k: what lies side by side in w goes below each
  // other.
  BITGATE_HD __forceinline__ void store(const Stage& stage, typename Variant::Operands& tiles) const {
    store_vectors<CoverA, Variant::pitch_a>(stage.a, place.thread, tiles.a);
    if constexpr (Variant::turned_b)
      return store_vectors<CoverB, Variant::pitch_b>(stage.b, place.thread, tiles.b);
    for (int pass = 0; pass < CoverB::passes; ++pass)
      store_turned<CoverB, Variant::pitch_b>(stage.b[pass], CoverB::row(place.thread, pass),
                                             CoverB::column(place.thread), tiles.b);
  }
};

// Tap by tap, channels in steps of Tile::K.
template <class Variant> struct TapByTap : Reader<Variant> {
  int32_t f[axes] = {};
  int32_t first_c = 0;

  static BITGATE_HD __forceinline__ int32_t steps(const Geometry& geometry) {
    const int32_t taps = is_pointwise(Variant::special) ? 1 : taps_of(geometry);
    return taps * steps_of(geometry.c, Variant::Tile::K);
  }

  BITGATE_HD __forceinline__ void start() {
    enter_tap();
    set_channels();
  }

  BITGATE_HD __forceinline__ void next() {
    first_c += Variant::Tile::K;
    if (first_c >= this->geometry.c) [[unlikely]] {
      first_c = 0;
      bool carry = true;
      for (int axis = axes - 1; axis >= 0; --axis) { // no break: f stays in registers
        f[axis] += carry;
        carry = f[axis] == this->geometry.axis[axis].filter;
        f[axis] = carry ? 0 : f[axis];
      }
      enter_tap();
    }
    set_channels();
  }

private:
  BITGATE_HD __forceinline__ void enter_tap() {
    const Tap tap = tap_at(this->geometry, f);
    this->at.w_tap = this->w_rows + tap.w_offset;
    this->find_cells(tap);
  }
  BITGATE_HD __forceinline__ void set_channels() {
    const int32_t a = first_c + Variant::CoverA::column(this->place.thread);
    const int32_t b = first_c + Variant::CoverB::column(this->place.thread);
    this->at.a = {a, a < this->geometry.c};
    this->at.b = {b, b < this->geometry.c ? this->geometry.k : 0};
  }
};

// In steps of Tile::K over taps and channels together: a tile may hold several taps.
template <class Variant> struct Merged : Reader<Variant> {
  int32_t first_term = 0;
  Column a = {}, b = {}, step = {}; // the thread's, and from one step to the next

  static BITGATE_HD __forceinline__ int32_t steps(const Geometry& geometry) {
    return steps_of(geometry.c * taps_of(geometry), Variant::Tile::K);
  }

  BITGATE_HD __forceinline__ void start() {
    a = column_from_first(Variant::CoverA::column(this->place.thread));
    b = column_from_first(Variant::CoverB::column(this->place.thread));
    step = column_from_first(Variant::Tile::K);
    set_terms(this->geometry.c * taps_of(this->geometry));
  }

  BITGATE_HD __forceinline__ void next() {
    first_term += Variant::Tile::K;
    advance(this->geometry, a, step);
    advance(this->geometry, b, step);
    set_terms(this->geometry.c * taps_of(this->geometry));
  }

private:
  // The first axis goes on behind the last tap.
  BITGATE_HD __forceinline__ Column column_from_first(int32_t term) const {
    Column column = column_at(this->geometry, term);
    column.f[0] += term / (this->geometry.c * taps_of(this->geometry)) * this->geometry.axis[0].filter;
    return column;
  }
  BITGATE_HD __forceinline__ void set_terms(int32_t terms) {
    const int32_t term_a = first_term + Variant::CoverA::column(this->place.thread);
    const int32_t term_b = first_term + Variant::CoverB::column(this->place.thread);
    this->find_cells(tap_at(this->geometry, a.f));
    this->at.w_tap = this->w_rows + tap_at(this->geometry, b.f).w_offset;
    this->at.a = {a.c, term_a < terms};
    this->at.b = {b.c, term_b < terms ? this->geometry.k : 0};
  }
};

template <class Variant>
using SourceOf =
    std::conditional_t<Variant::special == Specialisation::odd_c, Merged<Variant>, TapByTap<Variant>>;

// The tile of sums, whose rows are `pitch` apart, through the element-wise operation, to y.
template <class Cover, int pitch, class Sum, class ElementC>
BITGATE_SHARED_PART void epilogue(const Sum* tile, const Geometry& geometry, const Place& place,
                                  const ElementC* cells_of_d, ElementC* y) {
  const int column = Cover::column(place.thread);
  const int32_t k = place.first_column + column;
  if (k >= geometry.k)
    return;
  const Layout& layout = geometry.y;
  if (geometry.op.kind == BITGATE_PASS && geometry.apart_y != 0) {
    const int64_t first = place.first_row + Cover::row(place.thread, 0);
    ElementC* to = y + offset_of(layout, {place.group, place.first_image}) + first * geometry.apart_y + k;
    const int32_t count = rows_from(geometry, place.first_row, Cover::passes * Cover::rows);
    return write_even_rows<Cover, pitch>(tile, place.thread, count, geometry.apart_y, to);
  }
  Walk walk{row_at(geometry, place.first_row + Cover::row(place.thread, 0)), 0};
  const Row& at = walk.row;
  walk.offset = offset_of(layout, cell_of(place.group, place.first_image + at.image, at.position));
  const Pace pace = pace_of(geometry, Cover::rows, layout.row, layout.spatial);
  const bitgate::DCell<ElementC> d(cells_of_d, geometry.op);
  for (int pass = 0; pass < Cover::passes; ++pass, advance(geometry, walk, pace)) {
    if (at.image >= geometry.images)
      continue;
    const int row = Cover::row(place.thread, pass);
    Cell cell = cell_of(place.group, place.first_image + at.image, at.position);
    ElementC* to = y + walk.offset + k;
    cell.column = k;
    ElementC values[Cover::vector];
    finish_vector(tile + row * pitch + column, geometry.op, d + offset_of(geometry.d, cell),
                  geometry.d.column, values);
    write_vector(to, values);
  }
}

template <class Variant, MainLoop loop>
__global__ void BITGATE_LAUNCH_BOUNDS(Variant::block, blocks_at_once<Variant>())
    kernel_fwd(const typename Variant::ElementA* x, const typename Variant::ElementB* w,
               const typename Variant::ElementC* d, typename Variant::ElementC* y, Geometry geometry) {
  using Lds = typename Variant::Lds;
  using Source = SourceOf<Variant>;
  BITGATE_LDS(Lds, lds);
  const Place place = place_of_block<Variant>(geometry);
  const auto rows = rows_of_a<typename Variant::CoverA, INT32_MIN>(
      geometry, geometry.x, geometry.apart_x, place.first_row, place.group, place.first_image, place.thread,
      [](const Axis& axis, int32_t position) { return input_at<Variant::special>(axis, position); });
  const auto* w_group = w + offset_of(geometry.w, {place.group});
  const int32_t first_k = place.first_column + Variant::CoverB::row(place.thread, 0);
  Source source{{geometry, place, rows, x, w_group + offset_of(geometry.w, {.row = first_k}), {}}};
  source.start();
  Sums<Variant> sums;
  sum_steps<Variant, loop>(source, Source::steps(geometry), place.thread, lds, sums);
  for (int round = 0; round < Variant::rounds; ++round) {
    share_sums<Variant>(sums, round, place.thread, lds);
    Place part = place;
    part.first_row += round * Variant::rows;
    epilogue<typename Variant::CoverC, Variant::pitch_c>(lds.c, bitgate::loaded_here(geometry), part, d, y);
  }
}

} // namespace grouped_fwd
