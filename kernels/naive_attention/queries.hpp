// What the plain kernels of both passes share: their grid, a query by its number, and the logits.
#pragma once

#include "bitgate/attention.hpp"
#include "bitgate/grid.hpp"
#include "bitgate/launch.hpp"

namespace naive_attention {

using bitgate::AttentionGeometry;
using bitgate::AttentionProblem;
using bitgate::KeyRange;
using bitgate::Number;

inline constexpr int block = 64;
inline constexpr int64_t max_blocks = 1 << 20;

// The numbers from a thread's own on, by the stride of the grid.
struct Turn {
  int64_t first = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x;
  int64_t step = static_cast<int64_t>(gridDim.x) * block;
};

// A query by its number.
struct Query {
  int64_t batch, head, row;

  BITGATE_HD Query(const AttentionGeometry& of, int64_t number)
      : batch(number / of.queries / of.heads), head(number / of.queries % of.heads),
        row(number % of.queries) {}
};

inline int64_t query_count(const bitgate::MaskedAttention& problem) {
  return problem.batch * problem.heads * problem.queries;
}

inline dim3 grid_of(int64_t cells) {
  const int64_t blocks = bitgate::ceil_div(cells, block);
  return dim3(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
}

// left . right over the head in order, elements `step` and `other_step` apart.
template <class T, class Other>
__device__ __forceinline__ float product(const T* left, int64_t step, const Other* right, int64_t other_step,
                                         int64_t head) {
  float sum = 0;
  for (int64_t c = 0; c < head; ++c)
    sum = bitgate::fused(Number<T>::widen(left[c * step]), Number<Other>::widen(right[c * other_step]), sum);
  return sum;
}

// One logit a thread, where a key is admitted: q . k over the head in order, times `scale`.
template <class T>
__global__ void __launch_bounds__(block)
    kernel_logits(const T* q, const T* k, const int32_t* lengths, float* logits, int64_t queries, float scale,
                  AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries * of.keys; i += turn.step) {
    const Query query(of, i / of.keys);
    const int64_t key = i % of.keys;
    const KeyRange range = bitgate::admitted_keys(of, lengths, query.batch, query.row);
    if (key < range.first || key >= range.end)
      continue;
    const T* const left = q + bitgate::row_at(of.q, query.batch, query.head, query.row);
    const T* const right = k + bitgate::row_at(of.k, query.batch, query.head / of.group, key);
    logits[i] = product(left, of.q.column, right, of.k.column, of.head) * scale;
  }
}

} // namespace naive_attention
