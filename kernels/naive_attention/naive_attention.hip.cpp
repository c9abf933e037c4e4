// The plain attention, in three kernels: a thread has one logit, fused over the head in order and then
// scaled; a thread has one query, whose maximum, powers exp(x - maximum) and sum it takes in order; a thread
// has one cell of the result, the powers times values fused in the order of the keys, and divides it.
// The workspace holds the logits, then powers, of all queries, and after them each query's sum.
#include "backward.hpp"
#include "bitgate/library.hpp"

namespace naive_attention {

// The keys that a query admits, counted in its batch: of a packed sequence from its first on.
__device__ __forceinline__ KeyRange keys_of(const AttentionGeometry& of, const int32_t* lengths,
                                            const int32_t* cu_q, const int32_t* cu_k, const Query& query) {
  if (of.sequences == 0)
    return bitgate::admitted_keys(of, lengths, query.batch, query.row);
  int64_t number = 0;
  while (number + 1 < of.sequences && cu_q[number + 1] <= query.row)
    ++number;
  const bitgate::Sequence in = bitgate::packed_sequence(cu_q, cu_k, number);
  const KeyRange range = bitgate::admitted_keys(of, in, lengths, query.batch, query.row - in.query);
  return {in.key + range.first, in.key + range.end};
}

// Where a key of a query begins, or its values.
__device__ __forceinline__ int64_t key_at(const AttentionGeometry& of, const bitgate::HeadLayout& layout,
                                          const int32_t* page_table, const Query& query, int64_t key) {
  const int64_t head = query.head / of.group;
  if (of.page == 0)
    return bitgate::row_at(layout, query.batch, head, key);
  return head * layout.head +
         bitgate::in_page(layout, page_table + query.batch * of.table_stride, of.page, key);
}

// One logit a thread, where a key is admitted.
template <class T, class Key>
__global__ void __launch_bounds__(block)
    kernel_forward_logits(const T* q, const Key* k, const int32_t* lengths, const int32_t* cu_q,
                          const int32_t* cu_k, const int32_t* page_table, const float* k_scale, float* logits,
                          int64_t queries, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries * of.keys; i += turn.step) {
    const Query query(of, i / of.keys);
    const int64_t key = i % of.keys;
    const KeyRange range = keys_of(of, lengths, cu_q, cu_k, query);
    if (key < range.first || key >= range.end)
      continue;
    const T* const left = q + bitgate::row_at(of.q, query.batch, query.head, query.row);
    const Key* const right = k + key_at(of, of.k, page_table, query, key);
    logits[i] = product(left, of.q.column, right, of.k.column, of.head) *
                (of.scale * bitgate::scale_of(k_scale, query.head / of.group));
  }
}

// Without lse it is null.
__global__ void __launch_bounds__(block)
    kernel_powers(const int32_t* lengths, const int32_t* cu_q, const int32_t* cu_k, float* logits,
                  float* sums, float* lse, int64_t queries, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries; i += turn.step) {
    const Query query(of, i);
    const KeyRange range = keys_of(of, lengths, cu_q, cu_k, query);
    float* const row = logits + i * of.keys;
    float top = -INFINITY, sum = 0;
    for (int64_t key = range.first; key < range.end; ++key)
      top = fmaxf(top, row[key]);
    for (int64_t key = range.first; key < range.end; ++key) {
      row[key] = bitgate::power_of_2((row[key] - top) * bitgate::log2_e);
      sum += row[key];
    }
    sums[i] = sum;
    if (lse != nullptr)
      lse[bitgate::row_at(of.lse, query.batch, query.head, query.row)] =
          sum > 0.0f ? top + bitgate::log_2(sum) * bitgate::ln_2 : -INFINITY;
  }
}

template <class T, class Key>
__global__ void __launch_bounds__(block)
    kernel_values(const Key* v, const int32_t* lengths, const int32_t* cu_q, const int32_t* cu_k,
                  const int32_t* page_table, const float* v_scale, const float* powers, const float* sums,
                  T* o, int64_t queries, AttentionGeometry of) {
  const Turn turn;
  for (int64_t i = turn.first; i < queries * of.head; i += turn.step) {
    const Query query(of, i / of.head);
    const int64_t column = i % of.head;
    const KeyRange range = keys_of(of, lengths, cu_q, cu_k, query);
    const float* const row = powers + i / of.head * of.keys;
    const float scale = bitgate::scale_of(v_scale, query.head / of.group);
    float sum = 0;
    for (int64_t key = range.first; key < range.end; ++key)
      sum = bitgate::fused(
          row[key], Number<Key>::widen(v[key_at(of, of.v, page_table, query, key) + column * of.v.column]),
          sum);
    o[bitgate::row_at(of.o, query.batch, query.head, query.row) + column * of.o.column] =
        Number<T>::narrow(range.first < range.end ? sum / sums[i / of.head] * scale : 0.0f);
  }
}

template <class T, class Key>
int32_t supports(const bitgate::Request<AttentionProblem>& request, bitgate_reason* reason) {
  const int32_t status = bitgate::check_attention<T, Key>(request.problem, {&request.problem.o}, reason);
  return status == BITGATE_OK ? bitgate::check_neighbours(request.problem, reason) : status;
}

int64_t workspace_bytes(const bitgate::Request<AttentionProblem>& request) {
  return query_count(request.problem) * (request.problem.keys + 1) * static_cast<int64_t>(sizeof(float));
}

template <class T, class Key>
void run(const bitgate::Request<AttentionProblem>& request, const AttentionProblem::Buffers& buffers,
         bitgate::Context& context) {
  const AttentionProblem& problem = request.problem;
  const AttentionGeometry geometry = bitgate::attention_geometry(problem);
  const int64_t queries = query_count(problem);
  auto* const logits = static_cast<float*>(buffers.workspace);
  float* const sums = logits + queries * problem.keys;
  int launches = bitgate::launch(
      context, "kernel_forward_logits", kernel_forward_logits<T, Key>, grid_of(queries * problem.keys),
      dim3(block), 0, static_cast<const T*>(buffers.q), static_cast<const Key*>(buffers.k), buffers.lengths,
      buffers.cu_q, buffers.cu_k, buffers.page_table, buffers.k_scale, logits, queries, geometry);
  launches += bitgate::launch(context, "kernel_powers", kernel_powers, grid_of(queries), dim3(block), 0,
                              buffers.lengths, buffers.cu_q, buffers.cu_k, logits, sums, buffers.lse, queries,
                              geometry);
  launches += bitgate::launch(
      context, "kernel_values", kernel_values<T, Key>, grid_of(queries * problem.head), dim3(block), 0,
      static_cast<const Key*>(buffers.v), buffers.lengths, buffers.cu_q, buffers.cu_k, buffers.page_table,
      buffers.v_scale, logits, sums, static_cast<T*>(buffers.o), queries, geometry);
  context.record.launches = launches;
  std::snprintf(context.record.path, sizeof context.record.path, "naive");
}

template <class T, class Key = T>
bitgate::Instance<AttentionProblem> instance(const char* name, const char* dtypes) {
  return {{name, "attention", dtypes, "", "f32", {}, {1, 1, 1}, block, 0, {}, 0},
          supports<T, Key>,
          workspace_bytes,
          run<T, Key>};
}
template <class T> bitgate::Registration<AttentionProblem> plain(const char* dtype) {
  return bitgate::Registration(instance<T>(dtype, dtype));
}

// Keys and values of 8 bits.
#define BITGATE_NARROW_KEYS(T, Key)                                                                          \
  bitgate::Registration(instance<bitgate::T, bitgate::Key>(#T "_" #Key, #T "_" #Key "_" #Key "_" #T))

const bitgate::Registration<AttentionProblem> instances[] = {
    plain<float>("f32"),
    plain<bitgate::f16>("f16"),
    plain<bitgate::bf16>("bf16"),
    BITGATE_NARROW_KEYS(f16, f8ocp),
    BITGATE_NARROW_KEYS(f16, bf8ocp),
    BITGATE_NARROW_KEYS(f16, f8fnuz),
    BITGATE_NARROW_KEYS(f16, bf8fnuz),
    BITGATE_NARROW_KEYS(bf16, f8ocp),
    BITGATE_NARROW_KEYS(bf16, bf8ocp),
    BITGATE_NARROW_KEYS(bf16, f8fnuz),
    BITGATE_NARROW_KEYS(bf16, bf8fnuz),
};
#undef BITGATE_NARROW_KEYS
const bitgate::Registration<bitgate::AttentionBackwardProblem> backward_instances[] = {
    bitgate::Registration(backward_instance<float>("bwd_f32", "f32")),
    bitgate::Registration(backward_instance<bitgate::f16>("bwd_f16", "f16")),
    bitgate::Registration(backward_instance<bitgate::bf16>("bwd_bf16", "bf16")),
};

} // namespace naive_attention

namespace bitgate {
const Family family{"naive_attention", nullptr, 0};
} // namespace bitgate
