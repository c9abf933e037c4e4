// The plain backward pass: logits and the products do . v, a thread each; weights p and slopes ds = p (dp -
// sum of p dp), a thread a query, over the keys in order; and dq, dk and dv, a thread a cell: over the keys
// in order, or over the heads that share a key and their queries in order. The workspace holds weights, then
// slopes, of all queries. What the forward pass left is not read.
#pragma once

#include "queries.hpp"

namespace naive_attention {

using bitgate::AttentionBackwardProblem;
using bitgate::HeadLayout;

// Logits become weights, products slopes.
__global__ void __launch_bounds__(block) kernel_slopes(const int32_t* lengths, float* weights, float* slopes,
                                                       int64_t queries, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries; i += turn.step) {
    const Query query(of, i);
    const KeyRange range = bitgate::admitted_keys(of, lengths, query.batch, query.row);
    float *const weight = weights + i * of.keys, *const slope = slopes + i * of.keys;
    float top = -INFINITY, sum = 0, all = 0;
    for (int64_t key = range.first; key < range.end; ++key)
      top = fmaxf(top, weight[key]);
    for (int64_t key = range.first; key < range.end; ++key) {
      weight[key] = bitgate::power_of_2((weight[key] - top) * bitgate::log2_e);
      sum += weight[key];
    }
    for (int64_t key = range.first; key < range.end; ++key) {
      weight[key] /= sum;
      all = bitgate::fused(weight[key], slope[key], all);
    }
    for (int64_t key = range.first; key < range.end; ++key)
      slope[key] = weight[key] * (slope[key] - all);
  }
}

template <class T>
__global__ void __launch_bounds__(block)
    kernel_of_queries(const T* k, const int32_t* lengths, const float* slopes, T* dq, int64_t queries,
                      HeadLayout to, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries * of.head; i += turn.step) {
    const Query query(of, i / of.head);
    const int64_t column = i % of.head;
    const KeyRange range = bitgate::admitted_keys(of, lengths, query.batch, query.row);
    const T* const keys =
        k + bitgate::row_at(of.k, query.batch, query.head / of.group, 0) + column * of.k.column;
    const float* const slope = slopes + i / of.head * of.keys;
    float sum = 0;
    for (int64_t key = range.first; key < range.end; ++key)
      sum = bitgate::fused(slope[key], Number<T>::widen(keys[key * of.k.row]), sum);
    dq[bitgate::row_at(to, query.batch, query.head, query.row) + column * to.column] =
        Number<T>::narrow(sum * of.scale);
  }
}

// dk of slopes and q, or dv of weights and do: `rows` are laid out as `from`, and the sums are scaled.
template <class T>
__global__ void __launch_bounds__(block)
    kernel_of_keys(const T* rows, const int32_t* lengths, const float* factors, T* gradient, int64_t cells,
                   HeadLayout from, HeadLayout to, float scale, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < cells; i += turn.step) {
    const int64_t column = i % of.head, key = i / of.head % of.keys, kv_heads = of.heads / of.group;
    const int64_t kv_head = i / of.head / of.keys % kv_heads, batch = i / of.head / of.keys / kv_heads;
    float sum = 0;
    for (int64_t head = kv_head * of.group; head < (kv_head + 1) * of.group; ++head)
      for (int64_t row = 0; row < of.queries; ++row) {
        const KeyRange range = bitgate::admitted_keys(of, lengths, batch, row);
        if (key < range.first || key >= range.end)
          continue;
        const int64_t query = (batch * of.heads + head) * of.queries + row;
        const T value = rows[bitgate::row_at(from, batch, head, row) + column * from.column];
        sum = bitgate::fused(factors[query * of.keys + key], Number<T>::widen(value), sum);
      }
    gradient[bitgate::row_at(to, batch, kv_head, key) + column * to.column] = Number<T>::narrow(sum * scale);
  }
}

template <class T>
int32_t backward_supports(const bitgate::Request<AttentionBackwardProblem>& request, bitgate_reason* reason) {
  const AttentionBackwardProblem& of = request.problem;
  return bitgate::check_attention<T>(of, {&of.d_o, &of.o, &of.dq, &of.dk, &of.dv}, reason);
}

inline int64_t backward_workspace(const bitgate::Request<AttentionBackwardProblem>& request) {
  return query_count(request.problem) * request.problem.keys * 2 * static_cast<int64_t>(sizeof(float));
}

template <class T>
void run_backward(const bitgate::Request<AttentionBackwardProblem>& request,
                  const AttentionBackwardProblem::Buffers& buffers, bitgate::Context& context) {
  const AttentionBackwardProblem& problem = request.problem;
  const AttentionGeometry geometry = bitgate::attention_geometry(problem, problem.d_o);
  AttentionGeometry products = geometry; // do . v, as q . k
  products.q = geometry.o, products.k = geometry.v;
  const int64_t queries = query_count(problem), logits = queries * problem.keys;
  const int64_t cells = problem.batch * problem.kv_heads * problem.keys * problem.head;
  auto* const weights = static_cast<float*>(buffers.workspace);
  float* const slopes = weights + logits;
  const auto *const q = static_cast<const T*>(buffers.q), *const k = static_cast<const T*>(buffers.k);
  const auto *const v = static_cast<const T*>(buffers.v), *const d_o = static_cast<const T*>(buffers.d_o);
  int launches = bitgate::launch(context, "kernel_logits", kernel_logits<T>, grid_of(logits), dim3(block), 0,
                                 q, k, buffers.lengths, weights, queries, geometry.scale, geometry);
  launches += bitgate::launch(context, "kernel_logits", kernel_logits<T>, grid_of(logits), dim3(block), 0,
                              d_o, v, buffers.lengths, slopes, queries, 1.0f, products);
  launches += bitgate::launch(context, "kernel_slopes", kernel_slopes, grid_of(queries), dim3(block), 0,
                              buffers.lengths, weights, slopes, queries, geometry);
  launches +=
      bitgate::launch(context, "kernel_of_queries", kernel_of_queries<T>, grid_of(queries * problem.head),
                      dim3(block), 0, k, buffers.lengths, slopes, static_cast<T*>(buffers.dq), queries,
                      bitgate::head_layout(problem.dq), geometry);
  launches += bitgate::launch(context, "kernel_of_keys", kernel_of_keys<T>, grid_of(cells), dim3(block), 0, q,
                              buffers.lengths, slopes, static_cast<T*>(buffers.dk), cells, geometry.q,
                              bitgate::head_layout(problem.dk), geometry.scale, geometry);
  launches += bitgate::launch(context, "kernel_of_keys", kernel_of_keys<T>, grid_of(cells), dim3(block), 0,
                              d_o, buffers.lengths, weights, static_cast<T*>(buffers.dv), cells, geometry.o,
                              bitgate::head_layout(problem.dv), 1.0f, geometry);
  context.record.launches = launches;
  std::snprintf(context.record.path, sizeof context.record.path, "naive");
}

template <class T>
bitgate::Instance<AttentionBackwardProblem> backward_instance(const char* name, const char* dtype) {
  return {{name, "attention_bwd", dtype, "", "f32", {}, {1, 1, 1}, block, 0, {}, 0},
          backward_supports<T>,
          backward_workspace,
          run_backward<T>};
}

} // namespace naive_attention
