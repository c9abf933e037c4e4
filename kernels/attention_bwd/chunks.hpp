// How a block of the backward pass goes through the other side: heads of two tensors, their chunks one after
// the other, the products that each takes part in, and the gradients in the end.
#pragma once

#include "tiles.hpp"

namespace attention_bwd {

using bitgate::AttentionGeometry;
using bitgate::Barrier;
using bitgate::HeadLayout;
using bitgate::KeyRange;

// The tensors of one side, as a block reads them: q and do, or k and v.
template <class T> struct Pair {
  Rows<const T> first, second;
};
template <class T>
__device__ __forceinline__ Rows<T> head_of(T* cells, const HeadLayout& layout, int64_t batch, int64_t head,
                                           int64_t row, int64_t rows, const AttentionGeometry& of,
                                           bool vectors) {
  return {cells + bitgate::row_at(layout, batch, head, row),
          layout.row,
          layout.column,
          rows - row,
          static_cast<int>(of.head),
          vectors};
}

template <class T>
__device__ __forceinline__ Pair<T> queries_of(const T* q, const T* d_o, int64_t batch, int64_t head,
                                              int64_t row, const AttentionGeometry& of, bool wide) {
  return {head_of(q, of.q, batch, head, row, of.queries, of, wide),
          head_of(d_o, of.o, batch, head, row, of.queries, of, wide)};
}
template <class T>
__device__ __forceinline__ Pair<T> keys_of(const T* k, const T* v, int64_t batch, int64_t head, int64_t row,
                                           const AttentionGeometry& of, bool wide) {
  return {head_of(k, of.k, batch, head, row, of.keys, of, wide),
          head_of(v, of.v, batch, head, row, of.keys, of, wide)};
}
// The head of keys that a head of queries shares.
__device__ __forceinline__ int64_t shared_head(int64_t head, const AttentionGeometry& of) {
  return head / of.group; // of keys
}

// The other side's tiles, chunk by chunk: those of the first tensor and of the second for the pairs, then, of
// as many gradients as a kernel has, the first's again and the second's. After the last tile of a head comes
// the first one of the next.
template <class Shape, int gradients> struct Chunks {
  using T = typename Shape::Element;
  using Cover = typename Shape::ReadOthers;
  using Pairs = typename Shape::Pairs;
  using Gradient = typename Shape::Gradient;
  Pair<T> others;
  int64_t first_head, second_head; // strides
  int64_t first_row, row, end_row; // of the tiles
  int64_t left;                    // chunks that are still to come
  int phase, chunk, count, thread;
  ChunkOf<T, Cover::vector> stage[Cover::passes];

  __device__ __forceinline__ void fetch() {
    if (left == 0)
      return;
    const Rows<const T>& rows = phase % 2 == 0 ? others.first : others.second;
    for (int pass = 0; pass < Cover::passes; ++pass)
      stage[pass] = rows.template read<Cover::vector>(row + Cover::row(thread, pass),
                                                      chunk * Shape::columns + Cover::column(thread));
  }
  // What was fetched to LDS, and on to the next chunk.
  __device__ __forceinline__ void store(T* to) {
    if (left == 0)
      return;
    if (phase >= 2)
      store_vectors<Cover, Gradient::pitch_b>(stage, thread, to);
    else if constexpr (Pairs::turned_b)
      store_vectors<Cover, Pairs::pitch_b>(stage, thread, to);
    else
      for (int pass = 0; pass < Cover::passes; ++pass)
        store_turned<Cover, Pairs::pitch_b>(stage[pass], Cover::row(thread, pass), Cover::column(thread), to);
    next();
  }

private:
  __device__ __forceinline__ void next() {
    --left;
    if (++chunk < count)
      return;
    chunk = 0;
    if (++phase < 2 + gradients)
      return;
    phase = 0;
    row += Shape::others;
    if (row < end_row)
      return;
    row = first_row;
    others.first.cells += first_head;
    others.second.cells += second_head;
  }
};

// Tiles of the other side that a block goes through, of each of some heads.
struct Tiles {
  int64_t first, count; // of a head

  template <class Shape> static __device__ __forceinline__ Tiles of(const KeyRange& range) {
    const int64_t first = range.first / Shape::others;
    return {first, range.end > range.first ? (range.end + Shape::others - 1) / Shape::others - first : 0};
  }
};

template <class Shape, int gradients>
__device__ __forceinline__ Chunks<Shape, gradients>
chunks_of(const Pair<typename Shape::Element>& others, const Tiles& tiles, int64_t heads, int64_t first_head,
          int64_t second_head, int64_t head_size, int thread) {
  const auto count = static_cast<int>((head_size + Shape::columns - 1) / Shape::columns);
  const int64_t first = tiles.first * Shape::others;
  return {others,
          first_head,
          second_head,
          first,
          first,
          first + tiles.count * Shape::others,
          heads * tiles.count * (2 + gradients) * count,
          0,
          0,
          count,
          thread,
          {}};
}

// The block's rows to LDS.
template <class Shape>
__device__ __forceinline__ void keep_rows(const Pair<typename Shape::Element>& own, int count, int thread,
                                          typename Shape::Lds& lds) {
  using Cover = typename Shape::ReadRows;
  for (int chunk = 0; chunk < count; ++chunk)
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int row = Cover::row(thread, pass), column = chunk * Shape::columns + Cover::column(thread),
                place = row * Shape::Pairs::pitch_a + column;
      write_chunk(lds.own[0] + place, own.first.template read<Cover::vector>(row, column));
      write_chunk(lds.own[1] + place, own.second.template read<Cover::vector>(row, column));
    }
}

// Logits and products of a tile to lds.x, with the chunk of the first gradient left in LDS.
template <class Shape, class Source>
__device__ __forceinline__ void multiply_pairs(typename Shape::Lds& lds, Source& source, int& at,
                                               int thread) {
  using Pairs = typename Shape::Pairs;
  constexpr Barrier chunk_is_complete{}, pairs_are_complete{};
  for (int pair = 0; pair < 2; ++pair) {
    Sums<Pairs> sums;
    clear<Pairs>(sums);
    for (int chunk = 0; chunk < source.count; ++chunk, at ^= 1) {
      source.fetch();
      compute<Pairs>({lds.own[pair] + chunk * Shape::columns, lds.chunk[at]}, thread, sums);
      source.store(lds.chunk[at ^ 1]);
      chunk_is_complete();
    }
    Pairs::Fragment::together([&] {
      float* const rows = lds.x[pair] + wave_row<Pairs>(thread) * Shape::pitch_x + wave_column<Pairs>(thread);
      for (int j = 0; j < Pairs::repeat_n; ++j)
        Pairs::Fragment::for_each(sums.fragment[0][j], [&](int row, int column, float value) {
          rows[row * Shape::pitch_x + j * Shape::FragmentExtent::N + column] = value;
        });
    });
  }
  pairs_are_complete();
}

// What weights or slopes of a tile add to a gradient.
template <class Shape, class Source>
__device__ __forceinline__ void
add_to_gradient(typename Shape::Lds& lds, const typename Shape::Element* factors, Source& source, int& at,
                int thread, Sums<typename Shape::Gradient> (&sums)[Shape::chunks]) {
  using Gradient = typename Shape::Gradient;
  constexpr Barrier chunk_is_complete{};
#pragma unroll
  for (int chunk = 0; chunk < Shape::chunks; ++chunk) {
    if (chunk >= source.count)
      continue;
    source.fetch();
    compute<Gradient>({factors, lds.chunk[at]}, thread, sums[chunk]);
    source.store(lds.chunk[at ^ 1]);
    at ^= 1;
    chunk_is_complete();
  }
}

// A gradient to memory, times `factor`.
template <class Shape>
__device__ __forceinline__ void write_gradient(Sums<typename Shape::Gradient> (&sums)[Shape::chunks],
                                               const Rows<typename Shape::Element>& to, float factor,
                                               int count, int thread, typename Shape::Lds& lds) {
  using Gradient = typename Shape::Gradient;
  using Cover = typename Shape::ReadRows;
#pragma unroll
  for (int chunk = 0; chunk < Shape::chunks; ++chunk) {
    if (chunk >= count)
      continue;
    Gradient::Fragment::together([&] {
      float* const rows =
          lds.sums + wave_row<Gradient>(thread) * Shape::pitch_sum + wave_column<Gradient>(thread);
      for (int j = 0; j < Gradient::repeat_n; ++j)
        Gradient::Fragment::for_each(sums[chunk].fragment[0][j], [&](int row, int column, float value) {
          rows[row * Shape::pitch_sum + j * Shape::FragmentExtent::N + column] = value;
        });
    });
    __syncthreads(); // the chunk's sums are complete
    BITGATE_UNROLL(1)
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int row = Cover::row(thread, pass), column = Cover::column(thread);
      to.template write<Cover::vector>(row, chunk * Shape::columns + column,
                                       lds.sums + row * Shape::pitch_sum + column, factor);
    }
    __syncthreads(); // they have been taken
  }
}

template <class Shape>
__device__ __forceinline__ void clear_all(Sums<typename Shape::Gradient> (&sums)[Shape::chunks]) {
  for (auto& one : sums)
    clear<typename Shape::Gradient>(one);
}

} // namespace attention_bwd
