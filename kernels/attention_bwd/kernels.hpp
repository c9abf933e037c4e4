// The tiled backward pass, in three kernels, none of which adds to what another block wrote: bits depend on
// no order of blocks.
//
//   statistics   a block for some queries: of each the largest logit, the sum of powers and the sum of p dp,
//                by an online softmax over the keys that it admits
//   saved        in place of it, where a problem brings o and lse of the forward pass: a thread for a query,
//                whose weights are exp(x - lse) and whose sum of p dp is do . o
//   keys         a block for some keys: dk and dv, over the heads that share the keys in order, and of each
//                over the queries that admit them in order
//   queries      a block for some queries: dq, over the keys that they admit in order
//
// Blocks go through tiles of the other side: logits and products dp = do . v by fragments, from LDS the
// weights p and slopes ds = p (dp - sum of p dp) of a few threads, then by fragments what these add to the
// gradients. LDS holds two chunks: while one is multiplied, the next is on its way. Weights and slopes are
// rounded to the type of q before they are multiplied.
//
// Powers are of 2: exp(x) = 2^(x log2 e). Any strides and lengths; heads are at most Shape::head.
#pragma once

#include "chunks.hpp"

namespace attention_bwd {

// What the workspace keeps of each query of all heads: the largest logit, one over the sum of powers, and the
// sum of p dp.
struct Statistics {
  float top, inverse, delta;
};

// A query's number among those of all heads.
__device__ __forceinline__ int64_t number_of(const AttentionGeometry& of, int64_t batch, int64_t head,
                                             int64_t row) {
  return (batch * of.heads + head) * of.queries + row;
}

// Where a block stands: a batch, a head of queries or of keys, and the first of its rows.
struct Place {
  int64_t batch, head, first;

  template <class Shape> static __device__ __forceinline__ Place of_block(int64_t heads, int64_t rows) {
    const int64_t tiles = (rows + Shape::rows - 1) / Shape::rows,
                  head = static_cast<int64_t>(blockIdx.x) / tiles;
    return {head / heads, head % heads, static_cast<int64_t>(blockIdx.x) % tiles * Shape::rows};
  }
};

// ---- which rows of the other side a block needs

// Keys that any of a block's queries admits.
template <class Shape>
__device__ __forceinline__ KeyRange keys_of_queries(const AttentionGeometry& of, const int32_t* lengths,
                                                    const Place& place) {
  const int64_t after = place.first + Shape::rows, last = after < of.queries ? after : of.queries;
  return {bitgate::admitted_keys(of, lengths, place.batch, place.first).first,
          bitgate::admitted_keys(of, lengths, place.batch, last - 1).end};
}

// Queries that may admit any of a block's keys: under a causal mask from that on which admits the first key,
// under a window up to that which admits the last one.
template <class Shape>
__device__ __forceinline__ KeyRange queries_of_keys(const AttentionGeometry& of, const int32_t* lengths,
                                                    const Place& place) {
  const int64_t after = place.first + Shape::rows, last = (after < of.keys ? after : of.keys) - 1,
                diagonal = of.queries - of.keys; // from a key to the first query that admits it
  KeyRange range{0, of.queries};
  if (of.mask != bitgate::KeyMask::full && place.first + diagonal > 0)
    range.first = place.first + diagonal;
  if (of.mask == bitgate::KeyMask::window && last + diagonal + of.window < range.end)
    range.end = last + diagonal + of.window;
  if (of.length_stride >= 0 && lengths[place.batch * of.length_stride] <= place.first)
    range.end = range.first;
  return range;
}

// What is known of a query.
__device__ __forceinline__ Query query_at(const AttentionGeometry& of, const int32_t* lengths, int64_t batch,
                                          int64_t head, int64_t row, const Statistics* statistics) {
  if (row >= of.queries)
    return {};
  const KeyRange range = bitgate::admitted_keys(of, lengths, batch, row);
  const Statistics& own = statistics[number_of(of, batch, head, row)];
  return {static_cast<int32_t>(range.first), static_cast<int32_t>(range.end > 0 ? range.end : 0), own.top,
          own.inverse, own.delta};
}

// What logits are multiplied by, as exponents of 2.
__device__ __forceinline__ float scale_to_base_2(const AttentionGeometry& of) {
  return of.scale * bitgate::log2_e;
}

// The logits and products of a tile become weights and slopes.
template <class Shape, bool rows_are_keys>
__device__ __forceinline__ void weigh(typename Shape::Lds& lds, int64_t first_key, float scale, int thread) {
  using T = typename Shape::Element;
  constexpr int threads = Shape::threads_a_row, pitch = Shape::Gradient::pitch_a;
  const int row = thread / threads, part = thread % threads;
  for (int i = 0; i < Shape::cells_a_thread; ++i) {
    const int other = part + i * threads, place = row * Shape::pitch_x + other;
    const Query& query = lds.query[rows_are_keys ? other : row];
    const int64_t key = first_key + (rows_are_keys ? row : other);
    const bool is_in = key >= query.first && key < query.end;
    const float p = is_in ? bitgate::power_of_2(lds.x[0][place] * scale - query.top) * query.inverse : 0.0f;
    const float slope = is_in ? p * (lds.x[1][place] - query.delta) : 0.0f;
    if constexpr (rows_are_keys)
      lds.weights[row * pitch + other] = Number<T>::narrow(p);
    lds.slopes[row * pitch + other] = Number<T>::narrow(slope);
  }
}

// ---- the kernels

// One query as its threads see it: the keys that it admits, the largest logit so far, the sum of powers and
// that of powers times dp.
struct Running {
  KeyRange range;
  float top, sum, delta;
};

// A tile's logits and products join what is known of each query.
template <class Shape>
__device__ __forceinline__ void join(const typename Shape::Lds& lds, int64_t first_key, float scale,
                                     int thread, Running& running) {
  constexpr int threads = Shape::threads_a_row, each = Shape::cells_a_thread;
  const int row = thread / threads, part = thread % threads;
  const float* const logits = lds.x[0] + row * Shape::pitch_x;
  const float* const products = lds.x[1] + row * Shape::pitch_x;
  float x[each], top = running.top;
  for (int i = 0; i < each; ++i) {
    const int64_t key = first_key + part + i * threads;
    const bool is_in = key >= running.range.first && key < running.range.end;
    x[i] = is_in ? logits[part + i * threads] * scale : -INFINITY;
    top = fmaxf(top, x[i]);
  }
  for (int distance = threads / 2; distance > 0; distance /= 2)
    top = fmaxf(top, __shfl_xor(top, distance));
  float sum = 0, delta = 0;
  for (int i = 0; i < each; ++i) {
    if (x[i] == -INFINITY)
      continue;
    const float power = bitgate::power_of_2(x[i] - top);
    sum += power;
    delta = bitgate::fused(power, products[part + i * threads], delta);
  }
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor(sum, distance);
    delta += __shfl_xor(delta, distance);
  }
  const float factor = running.top == top ? 1.0f : bitgate::power_of_2(running.top - top);
  running.sum = running.sum * factor + sum;
  running.delta = running.delta * factor + delta;
  running.top = top;
}

template <class Shape>
__global__ void __launch_bounds__(Shape::block)
    kernel_statistics(const typename Shape::Element* q, const typename Shape::Element* k,
                      const typename Shape::Element* v, const typename Shape::Element* d_o,
                      const int32_t* lengths, Statistics* statistics, AttentionGeometry of, int32_t vectors) {
  using Lds = typename Shape::Lds;
  BITGATE_LDS(Lds, lds);
  const int thread = static_cast<int>(threadIdx.x);
  const Place place = Place::of_block<Shape>(of.heads, of.queries);
  const bool wide = vectors != 0;
  const Tiles tiles = Tiles::of<Shape>(keys_of_queries<Shape>(of, lengths, place));
  auto source = chunks_of<Shape, 0>(keys_of(k, v, place.batch, shared_head(place.head, of), 0, of, wide),
                                    tiles, 1, 0, 0, of.head, thread);
  keep_rows<Shape>(queries_of(q, d_o, place.batch, place.head, place.first, of, wide), source.count, thread,
                   lds);
  const int64_t query = place.first + thread / Shape::threads_a_row;
  Running running{{0, 0}, -INFINITY, 0.0f, 0.0f};
  if (query < of.queries)
    running.range = bitgate::admitted_keys(of, lengths, place.batch, query);
  const float scale = scale_to_base_2(of);

  int at = 0; // of the chunk that is multiplied
  source.fetch();
  source.store(lds.chunk[0]);
  constexpr Barrier chunk_is_complete{};
  chunk_is_complete();
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    multiply_pairs<Shape>(lds, source, at, thread);
    join<Shape>(lds, (tiles.first + tile) * Shape::others, scale, thread, running);
  }
  if (thread % Shape::threads_a_row != 0 || query >= of.queries)
    return;
  const float inverse = running.sum > 0.0f ? 1.0f / running.sum : 0.0f;
  statistics[number_of(of, place.batch, place.head, query)] = {running.top, inverse, running.delta * inverse};
}

inline constexpr int saved_block = 64;

// The same of what the forward pass left.
template <class T>
__global__ void __launch_bounds__(saved_block)
    kernel_saved(const T* o, const float* lse, const T* d_o, Statistics* statistics, int64_t queries,
                 HeadLayout of_o, HeadLayout of_lse, AttentionGeometry of) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * saved_block + threadIdx.x; i < queries;
       i += static_cast<int64_t>(gridDim.x) * saved_block) {
    const int64_t head = i / of.queries % of.heads, batch = i / of.queries / of.heads, row = i % of.queries;
    const T* const left = o + bitgate::row_at(of_o, batch, head, row);
    const T* const right = d_o + bitgate::row_at(of.o, batch, head, row);
    float delta = 0;
    for (int64_t column = 0; column < of.head; ++column)
      delta = bitgate::fused(Number<T>::widen(left[column * of_o.column]),
                             Number<T>::widen(right[column * of.o.column]), delta);
    const float own = lse[bitgate::row_at(of_lse, batch, head, row)];
    statistics[i] = {own * bitgate::log2_e, 1.0f, delta};
  }
}

template <class Shape>
__global__ void __launch_bounds__(Shape::block)
    kernel_keys(const typename Shape::Element* q, const typename Shape::Element* k,
                const typename Shape::Element* v, const typename Shape::Element* d_o, const int32_t* lengths,
                const Statistics* statistics, typename Shape::Element* dk, typename Shape::Element* dv,
                HeadLayout to_k, HeadLayout to_v, AttentionGeometry of, int32_t vectors) {
  using Lds = typename Shape::Lds;
  BITGATE_LDS(Lds, lds);
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t kv_heads = of.heads / of.group;
  const Place place = Place::of_block<Shape>(kv_heads, of.keys);
  const int64_t first_head = place.head * of.group;
  const bool wide = vectors != 0;
  const Tiles tiles = Tiles::of<Shape>(queries_of_keys<Shape>(of, lengths, place));
  auto source = chunks_of<Shape, 2>(queries_of(q, d_o, place.batch, first_head, 0, of, wide), tiles, of.group,
                                    of.q.head, of.o.head, of.head, thread);
  keep_rows<Shape>(keys_of(k, v, place.batch, place.head, place.first, of, wide), source.count, thread, lds);
  const float scale = scale_to_base_2(of);

  Sums<typename Shape::Gradient> of_k[Shape::chunks], of_v[Shape::chunks];
  clear_all<Shape>(of_k);
  clear_all<Shape>(of_v);
  int at = 0; // of the chunk that is multiplied
  source.fetch();
  source.store(lds.chunk[0]);
  constexpr Barrier chunk_is_complete{}, weights_are_complete{};
  chunk_is_complete();
  for (int64_t head = 0; head < of.group; ++head)
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      if (thread < Shape::others)
        lds.query[thread] = query_at(of, lengths, place.batch, first_head + head,
                                     (tiles.first + tile) * Shape::others + thread, statistics);
      multiply_pairs<Shape>(lds, source, at, thread);
      weigh<Shape, true>(lds, place.first, scale, thread);
      weights_are_complete();
      add_to_gradient<Shape>(lds, lds.slopes, source, at, thread, of_k);
      add_to_gradient<Shape>(lds, lds.weights, source, at, thread, of_v);
    }

  const AttentionGeometry& late = bitgate::loaded_here(of);
  write_gradient<Shape>(of_k, head_of(dk, to_k, place.batch, place.head, place.first, late.keys, late, wide),
                        late.scale, source.count, thread, lds);
  write_gradient<Shape>(of_v, head_of(dv, to_v, place.batch, place.head, place.first, late.keys, late, wide),
                        1.0f, source.count, thread, lds);
}

template <class Shape>
__global__ void __launch_bounds__(Shape::block)
    kernel_queries(const typename Shape::Element* q, const typename Shape::Element* k,
                   const typename Shape::Element* v, const typename Shape::Element* d_o,
                   const int32_t* lengths, const Statistics* statistics, typename Shape::Element* dq,
                   HeadLayout to_q, AttentionGeometry of, int32_t vectors) {
  using Lds = typename Shape::Lds;
  BITGATE_LDS(Lds, lds);
  const int thread = static_cast<int>(threadIdx.x);
  const Place place = Place::of_block<Shape>(of.heads, of.queries);
  const bool wide = vectors != 0;
  const Tiles tiles = Tiles::of<Shape>(keys_of_queries<Shape>(of, lengths, place));
  auto source = chunks_of<Shape, 1>(keys_of(k, v, place.batch, shared_head(place.head, of), 0, of, wide),
                                    tiles, 1, 0, 0, of.head, thread);
  keep_rows<Shape>(queries_of(q, d_o, place.batch, place.head, place.first, of, wide), source.count, thread,
                   lds);
  if (thread < Shape::rows)
    lds.query[thread] = query_at(of, lengths, place.batch, place.head, place.first + thread, statistics);
  const float scale = scale_to_base_2(of);

  Sums<typename Shape::Gradient> sums[Shape::chunks];
  clear_all<Shape>(sums);
  int at = 0; // of the chunk that is multiplied
  source.fetch();
  source.store(lds.chunk[0]);
  constexpr Barrier chunk_is_complete{}, slopes_are_complete{};
  chunk_is_complete();
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    multiply_pairs<Shape>(lds, source, at, thread);
    weigh<Shape, false>(lds, (tiles.first + tile) * Shape::others, scale, thread);
    slopes_are_complete();
    add_to_gradient<Shape>(lds, lds.slopes, source, at, thread, sums);
  }

  const AttentionGeometry& late = bitgate::loaded_here(of);
  write_gradient<Shape>(sums,
                        head_of(dq, to_q, place.batch, place.head, place.first, late.queries, late, wide),
                        late.scale, source.count, thread, lds);
}

} // namespace attention_bwd
