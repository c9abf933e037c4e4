// Tiled attention. A block has some queries of one head and goes through the keys that any of them admits, a
// tile at a time: logits by fragments, their maximum so far and the powers of each query by a few threads,
// then the powers times values by fragments. Sums so far are rescaled whenever a maximum grows. LDS holds two
// chunks of k and v: while one is multiplied, the next is on its way. With several slices of the keys each
// leaves its sums unscaled in the workspace, and a second kernel merges them.
//
// Keys and values of 8 bits become those of the queries on their way to LDS; their scales, which heads have,
// multiply logits and sums of values.
//
// Powers are of 2: exp(x) = 2^(x log2 e). Any strides and lengths; heads are at most Shape::head. Of packed
// sequences each has its own tiles, of queries and of keys; some blocks have none.
#pragma once

#include "tiles.hpp"

namespace attention {

using bitgate::AttentionGeometry;
using bitgate::Barrier;
using bitgate::KeyRange;
using bitgate::Sequence;

// Where slices meet: sums (slices, queries of all heads, head), then maxima and sums of powers (slices,
// queries of all heads).
struct Parts {
  int64_t queries; // of all heads
  int32_t slices;
  int32_t zero; // no byte of a kernel's argument is left undefined

  BITGATE_HD int64_t cell(int64_t slice, int64_t query, int64_t head) const {
    return (slice * queries + query) * head;
  }
  BITGATE_HD int64_t top(int64_t slice, int64_t query, int64_t head) const {
    return slices * queries * head + slice * queries + query;
  }
  BITGATE_HD int64_t sum(int64_t slice, int64_t query, int64_t head) const {
    return top(slice, query, head) + slices * queries;
  }
  BITGATE_HD int64_t cells(int64_t head) const { return slices * queries * (head + 2); }
};

// One query as its threads see it: the keys that it admits, the largest logit so far and the sum of powers.
struct Running {
  KeyRange range;
  float top, sum;
};

// The block's way through the keys, chunk by chunk.
template <class Shape> struct Chunks {
  using T = typename Shape::Element;
  using Cover = typename Shape::ReadKeys;
  using Logits = typename Shape::Logits;
  using Values = typename Shape::Values;
  Rows<const typename Shape::Key, T> k, v;
  Pages pages;
  int64_t key; // of the tile's first
  int chunk, thread, count;
  bool is_value;
  ChunkOf<T, Cover::vector> stage[Cover::passes];

  __device__ __forceinline__ void fetch() {
    const auto& rows = is_value ? v : k;
    const int column = chunk * Shape::columns + Cover::column(thread);
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int64_t at = key + Cover::row(thread, pass);
      const bool is_inside = at < rows.rows;
      int64_t place = at * rows.row;
      if (pages.page != 0 && is_inside)
        place = bitgate::in_page({is_value ? pages.v : pages.k, 0, rows.row, 0}, pages.table, pages.page, at);
      stage[pass] = rows.template read_at<Cover::vector>(is_inside, place, column);
    }
  }
  __device__ __forceinline__ void store(T* to) const {
    if (is_value)
      store_vectors<Cover, Values::pitch_b>(stage, thread, to);
    else if constexpr (Logits::turned_b)
      store_vectors<Cover, Logits::pitch_b>(stage, thread, to);
    else
      for (int pass = 0; pass < Cover::passes; ++pass)
        store_turned<Cover, Logits::pitch_b>(stage[pass], Cover::row(thread, pass), Cover::column(thread),
                                             to);
  }
  __device__ __forceinline__ void next() {
    if (++chunk < count)
      return;
    chunk = 0;
    is_value = !is_value;
    if (!is_value)
      key += Shape::keys;
  }
};

// The logits of a tile in LDS become weights; what was summed before is to be multiplied by `factor`.
template <class Shape>
__device__ __forceinline__ void weigh(typename Shape::Lds& lds, int64_t first_key, float scale, int thread,
                                      Running& running) {
  using T = typename Shape::Element;
  constexpr int threads = Shape::threads_a_query, each = Shape::keys_a_thread;
  const int query = thread / threads, part = thread % threads;
  const float* const logits = lds.x + query * Shape::pitch_x;
  float x[each], top = running.top;
  for (int i = 0; i < each; ++i) {
    const int64_t key = first_key + part + i * threads;
    const bool is_in = key >= running.range.first && key < running.range.end;
    x[i] = is_in ? logits[part + i * threads] * scale : -INFINITY;
    top = fmaxf(top, x[i]);
  }
  for (int distance = threads / 2; distance > 0; distance /= 2)
    top = fmaxf(top, __shfl_xor(top, distance));
  float sum = 0;
  for (int i = 0; i < each; ++i) {
    const float power = x[i] == -INFINITY ? 0.0f : bitgate::power_of_2(x[i] - top);
    lds.weights[query * Shape::Values::pitch_a + part + i * threads] = Number<T>::narrow(power);
    sum += power;
  }
  for (int distance = threads / 2; distance > 0; distance /= 2)
    sum += __shfl_xor(sum, distance);
  const float factor = running.top == top ? 1.0f : bitgate::power_of_2(running.top - top);
  if (part == 0)
    lds.factor[query] = factor;
  running.sum = running.sum * factor + sum;
  running.top = top;
}

// Tiles of a head's queries: of packed sequences as many as there may be.
template <class Shape> BITGATE_HD int64_t tiles_of(int64_t queries, int64_t sequences) {
  return sequences == 0 ? (queries + Shape::queries - 1) / Shape::queries
                        : queries / Shape::queries + sequences;
}

// The query tile of a block, counted in its sequence, and its head and batch. Past the last tile of packed
// sequences `first` is past the queries.
struct Place {
  int64_t batch, head, first;
  Sequence in;

  template <class Shape>
  static __device__ __forceinline__ Place of_block(const AttentionGeometry& of, const int32_t* cu_q,
                                                   const int32_t* cu_k) {
    const int64_t tiles = tiles_of<Shape>(of.queries, of.sequences),
                  head = static_cast<int64_t>(blockIdx.x) / tiles;
    int64_t tile = static_cast<int64_t>(blockIdx.x) % tiles;
    if (of.sequences == 0)
      return {head / of.heads, head % of.heads, tile * Shape::queries, bitgate::whole_batch(of)};
    int64_t number = 0;
    for (; number + 1 < of.sequences; ++number) {
      const int64_t own = tiles_of<Shape>(cu_q[number + 1] - cu_q[number], 0);
      if (tile < own)
        break;
      tile -= own;
    }
    return {0, head, tile * Shape::queries, bitgate::packed_sequence(cu_q, cu_k, number)};
  }
};

// Keys that any query of the block admits.
template <class Shape>
__device__ __forceinline__ KeyRange keys_of_block(const AttentionGeometry& of, const int32_t* lengths,
                                                  const Place& place) {
  const int64_t after = place.first + Shape::queries,
                last = after < place.in.queries ? after : place.in.queries;
  return {bitgate::admitted_keys(of, place.in, lengths, place.batch, place.first).first,
          bitgate::admitted_keys(of, place.in, lengths, place.batch, last - 1).end};
}

template <class Shape>
__global__ void __launch_bounds__(Shape::block)
    kernel_tiles(const typename Shape::Element* q, const typename Shape::Key* k, const typename Shape::Key* v,
                 const int32_t* lengths, const int32_t* cu_q, const int32_t* cu_k, const int32_t* page_table,
                 const float* k_scale, const float* v_scale, typename Shape::Element* o, float* lse,
                 float* parts, AttentionGeometry of, Parts meet, int32_t vectors) {
  using T = typename Shape::Element;
  using Lds = typename Shape::Lds;
  using Logits = typename Shape::Logits;
  using Values = typename Shape::Values;
  BITGATE_LDS(Lds, lds);
  const int thread = static_cast<int>(threadIdx.x), columns = static_cast<int>(of.head);
  const Place place = Place::of_block<Shape>(of, cu_q, cu_k);
  const int64_t rest = place.in.queries - place.first, kv_head = place.head / of.group,
                first_row = place.in.query + place.first;
  if (rest <= 0)
    return;
  const auto head_of = [&](auto* cells, const bitgate::HeadLayout& layout, int64_t batch, int64_t head,
                           int64_t row, int64_t rows) {
    return Rows<std::remove_pointer_t<decltype(cells)>, T>{cells + bitgate::row_at(layout, batch, head, row),
                                                           layout.row,
                                                           layout.column,
                                                           rows,
                                                           columns,
                                                           vectors != 0};
  };

  // The keys of this slice, in whole tiles.
  const KeyRange range = keys_of_block<Shape>(of, lengths, place);
  const int64_t first_tile = range.first / Shape::keys,
                tiles =
                    range.end > range.first ? (range.end + Shape::keys - 1) / Shape::keys - first_tile : 0;
  const Slice slice = slice_of(static_cast<int32_t>(tiles), meet.slices, static_cast<int32_t>(blockIdx.y));
  // Pages past the last admitted key may hold anything; those of a batch begin where the table says.
  const int64_t keys = of.page == 0 ? place.in.keys : range.end, batch = of.page == 0 ? place.batch : 0;
  Chunks<Shape> source{head_of(k, of.k, batch, kv_head, place.in.key, keys),
                       head_of(v, of.v, batch, kv_head, place.in.key, keys),
                       {page_table + place.batch * of.table_stride, of.page, of.k.batch, of.v.batch},
                       (first_tile + slice.first) * Shape::keys,
                       0,
                       thread,
                       (columns + Shape::columns - 1) / Shape::columns,
                       false,
                       {}};

  const auto queries = head_of(q, of.q, place.batch, place.head, first_row, rest);
  using Cover = typename Shape::ReadQueries;
  for (int chunk = 0; chunk < source.count; ++chunk)
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int row = Cover::row(thread, pass), column = chunk * Shape::columns + Cover::column(thread);
      write_chunk(lds.q + row * Logits::pitch_a + column, queries.template read<Cover::vector>(row, column));
    }
  const int query = thread / Shape::threads_a_query;
  Running running{{0, 0}, -INFINITY, 0.0f};
  if (query < rest)
    running.range = bitgate::admitted_keys(of, place.in, lengths, place.batch, place.first + query);
  const float scale = of.scale * bitgate::log2_e * bitgate::scale_of(k_scale, kv_head);

  Sums<Values> sums[Shape::chunks];
  for (int chunk = 0; chunk < Shape::chunks; ++chunk)
    clear<Values>(sums[chunk]);
  int at = 0; // of the chunk that is multiplied
  if (slice.count > 0) {
    source.fetch();
    source.store(lds.chunk[0]);
    source.next();
  }
  constexpr Barrier chunk_is_complete{}, logits_are_complete{}, weights_are_complete{};
  chunk_is_complete();
  for (int32_t tile = 0; tile < slice.count; ++tile) {
    const int64_t first_key = (first_tile + slice.first + tile) * Shape::keys;
    Sums<Logits> logits;
    clear<Logits>(logits);
    for (int chunk = 0; chunk < source.count; ++chunk, at ^= 1) {
      source.fetch(); // after the last chunk of k comes the first of v
      compute<Logits>({lds.q + chunk * Shape::columns, lds.chunk[at]}, thread, logits);
      source.store(lds.chunk[at ^ 1]);
      source.next();
      chunk_is_complete();
    }
    Logits::Fragment::together([&] {
      float* const rows = lds.x + wave_row<Logits>(thread) * Shape::pitch_x;
      for (int j = 0; j < Logits::repeat_n; ++j)
        Logits::Fragment::for_each(logits.fragment[0][j], [&](int row, int column, float value) {
          rows[row * Shape::pitch_x + j * Shape::FragmentExtent::N + column] = value;
        });
    });
    logits_are_complete();
    weigh<Shape>(lds, first_key, scale, thread, running);
    weights_are_complete();
#pragma unroll
    for (int chunk = 0; chunk < Shape::chunks; ++chunk) {
      if (chunk >= source.count)
        continue;
      const bool has_more = chunk + 1 < source.count || tile + 1 < slice.count;
      if (has_more)
        source.fetch();
      Values::Fragment::together([&] {
        const float* const factors = lds.factor + wave_row<Values>(thread);
        for (int j = 0; j < Values::repeat_n; ++j)
          Values::Fragment::update(sums[chunk].fragment[0][j],
                                   [&](int row, float value) { return value * factors[row]; });
      });
      compute<Values>({lds.weights, lds.chunk[at]}, thread, sums[chunk]);
      if (has_more) {
        source.store(lds.chunk[at ^ 1]);
        source.next();
      }
      at ^= 1;
      chunk_is_complete();
    }
  }

  // Each query's factor, and what else is known of it.
  const AttentionGeometry& late = bitgate::loaded_here(of);
  const Parts& ends = bitgate::loaded_here(meet);
  const bool is_whole = ends.slices == 1;
  const int64_t number = (place.batch * late.heads + place.head) * late.queries + first_row;
  if (thread % Shape::threads_a_query == 0) {
    lds.factor[query] = (is_whole ? (running.sum > 0.0f ? 1.0f / running.sum : 0.0f) : 1.0f) *
                        bitgate::scale_of(v_scale, place.head / late.group);
    if (query < rest && !is_whole) {
      parts[ends.top(blockIdx.y, number + query, late.head)] = running.top;
      parts[ends.sum(blockIdx.y, number + query, late.head)] = running.sum;
    } else if (query < rest && lse != nullptr) {
      lse[bitgate::row_at(late.lse, place.batch, place.head, first_row + query)] =
          running.sum > 0.0f ? (running.top + bitgate::log_2(running.sum)) * bitgate::ln_2 : -INFINITY;
    }
  }
  const auto results = head_of(o, late.o, place.batch, place.head, first_row, rest);
  const Rows<float> sums_so_far{
      parts + ends.cell(blockIdx.y, number, late.head), late.head, 1, rest, columns, false};
#pragma unroll
  for (int chunk = 0; chunk < Shape::chunks; ++chunk) {
    if (chunk >= source.count)
      continue;
    Values::Fragment::together([&] {
      float* const rows = lds.o + wave_row<Values>(thread) * Shape::pitch_o;
      for (int j = 0; j < Values::repeat_n; ++j)
        Values::Fragment::for_each(sums[chunk].fragment[0][j], [&](int row, int column, float value) {
          rows[row * Shape::pitch_o + j * Shape::FragmentExtent::N + column] = value;
        });
    });
    __syncthreads(); // the chunk's sums are complete
    BITGATE_UNROLL(1)
    for (int pass = 0; pass < Cover::passes; ++pass) {
      const int row = Cover::row(thread, pass), column = Cover::column(thread);
      const float* const values = lds.o + row * Shape::pitch_o + column;
      if (is_whole)
        results.template write<Cover::vector>(row, chunk * Shape::columns + column, values, lds.factor[row]);
      else
        sums_so_far.template write<Cover::vector>(row, chunk * Shape::columns + column, values,
                                                  lds.factor[row]);
    }
    __syncthreads(); // they have been taken
  }
}

inline constexpr int merge_block = 256;

// One thread a cell: the slices' sums at the largest of their maxima. Without lse it is null.
template <class T>
__global__ void __launch_bounds__(merge_block)
    kernel_merge(const float* parts, T* o, float* lse, AttentionGeometry of, Parts meet) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * merge_block + threadIdx.x; i < meet.queries * of.head;
       i += static_cast<int64_t>(gridDim.x) * merge_block) {
    const int64_t query = i / of.head, column = i % of.head;
    float top = -INFINITY, sum = 0, value = 0;
    for (int32_t slice = 0; slice < meet.slices; ++slice)
      top = fmaxf(top, parts[meet.top(slice, query, of.head)]);
    for (int32_t slice = 0; slice < meet.slices; ++slice) {
      const float own = parts[meet.top(slice, query, of.head)];
      const float factor = own == -INFINITY ? 0.0f : bitgate::power_of_2(own - top);
      sum += factor * parts[meet.sum(slice, query, of.head)];
      value += factor * parts[meet.cell(slice, query, of.head) + column];
    }
    const int64_t batch = query / of.queries / of.heads, head = query / of.queries % of.heads,
                  row = query % of.queries;
    o[bitgate::row_at(of.o, batch, head, row) + column * of.o.column] =
        Number<T>::narrow(sum > 0.0f ? value / sum : 0.0f);
    if (lse != nullptr && column == 0)
      lse[bitgate::row_at(of.lse, batch, head, row)] =
          sum > 0.0f ? (top + bitgate::log_2(sum)) * bitgate::ln_2 : -INFINITY;
  }
}

} // namespace attention
