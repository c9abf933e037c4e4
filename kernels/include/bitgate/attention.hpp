// Attention as the C ABI states it: o[b,h,i] = sum over admitted keys j of p[j] v[b,g,j], where p is the
// softmax over these keys of q[b,h,i] . k[b,g,j] / sqrt(d) and g = h / (heads / kv). Sums are taken in f32,
// and each result is rounded once. Strides are any.
//
// Roles are q and o (b, h, s, d), k and v (b, kv, t, d); of a padded problem lengths (b) in i32; with lse the
// f32 output lse (b, h, s). Attributes, with their defaults:
//     kv               heads of k and v, which divide those of q
//     mask = full      all keys; causal: those up to i + t - s; window: the last w of these
//     w = 1            keys of a window
//     padded = 0       of batch b only the first lengths[b] keys are admitted as well
//     lse = 0          the logarithm of the sum of exp(logits) is written; -inf where no key is admitted
//     packed = 0       b sequences in a row: q and o are (h, s, d), k and v (kv, t, d), lse is (h, s); the
//     i32
//                      tensors cu_seqlens_q and cu_seqlens_k (b + 1) say where each begins, and masks count
//                      in it
//     b                packed sequences
//     paged = 0        k and v are (n, kv, p, d): n pages of p keys; the i32 tensor page_table (b, m) names
//     the
//                      m pages of a batch, in order
//     t                keys of a batch, where they are in pages
//     scaled = 0       the f32 tensors k_scale and v_scale (kv) multiply the keys and values of each head
// A query that admits no key gets 0. What lies in pages past a batch's keys is not read.
//
// attention_bwd: the gradients dq (b, h, s, d), dk and dv (b, kv, t, d) of q, k and v, from that of o: do (b,
// h, s, d). Attributes are the same but lse. dk and dv are summed over the heads of queries that share them.
//     saved = 0        o (b, h, s, d) and the f32 lse (b, h, s), which the forward pass left, are read as
//     well
#pragma once

#include <cmath>
#include <cstring>
#include <tuple>

#include "bitgate/check_tensor.hpp"
#include "bitgate/dtype.hpp"
#include "bitgate/number.hpp"
#include "bitgate/power.hpp"
#include "bitgate/problem.hpp"
#include "bitgate/record.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

enum class KeyMask : int32_t { full, causal, window };

// What both passes share.
struct MaskedAttention {
  bitgate_tensor q, k, v, lengths;
  KeyMask mask;
  int64_t batch, heads, kv_heads, queries, keys, head, window;
};

struct AttentionProblem : MaskedAttention {
  // Device pointers, by role.
  struct Buffers {
    const void *q, *k, *v;
    const int32_t *lengths, *cu_q, *cu_k, *page_table;
    void* o;
    float* lse;
    const float *k_scale, *v_scale;
    void* workspace;
  };
  bitgate_tensor o, lse, cu_q, cu_k, page_table, k_scale, v_scale;
  int64_t sequences; // packed ones, which are one batch; else 0
  int64_t page;      // keys of a page; 0: keys are in a row
};

struct AttentionBackwardProblem : MaskedAttention {
  struct Buffers {
    const void *q, *k, *v, *d_o, *o; // without `saved` o and lse are null
    const float* lse;
    const int32_t* lengths;
    void *dq, *dk, *dv, *workspace;
  };
  bitgate_tensor d_o, o, lse, dq, dk, dv;
  bool is_saved() const { return o.rank != 0; }
};

namespace detail {

// The attributes of both passes, and what they read.
inline void read_masked(ProblemReader& reader, MaskedAttention& to) noexcept {
  static constexpr const char* masks[] = {"full", "causal", "window"};
  const char* mask = masks[0];
  int32_t is_padded = 0;
  to.kv_heads = to.window = 1;
  reader.text("mask", mask);
  reader.integer("kv", to.kv_heads);
  reader.integer("w", to.window);
  reader.integer("padded", is_padded);
  int found = 0;
  while (found < 3 && std::strcmp(masks[found], mask) != 0)
    ++found;
  if (found == 3)
    reader.fail(BITGATE_REFUSED, "mask", "mask '%.32s' is unknown: known are full, causal, window", mask);
  to.mask = static_cast<KeyMask>(found);
  to.lengths = {};
  reader.tensor("q", to.q), reader.tensor("k", to.k), reader.tensor("v", to.v);
  if (is_padded != 0)
    reader.tensor("lengths", to.lengths);
}

// A tensor of queries, or of keys: (b, h, s, d) or (b, kv, t, d), or as many of these dimensions as its rank.
struct HeadTensor {
  const bitgate_tensor& tensor;
  bool is_written, is_of_keys;
  int rank = 4;
};

// A tensor of packed sequences as that of one batch.
inline void as_batch(bitgate_tensor& tensor) noexcept {
  if (tensor.rank == 0 || tensor.rank >= BITGATE_MAX_RANK)
    return;
  std::memmove(tensor.lengths + 1, tensor.lengths, sizeof(int64_t) * static_cast<size_t>(tensor.rank));
  std::memmove(tensor.strides + 1, tensor.strides, sizeof(int64_t) * static_cast<size_t>(tensor.rank));
  tensor.lengths[0] = 1, tensor.strides[0] = 0;
  ++tensor.rank;
}

// BITGATE_BAD_ARGUMENT unless a tensor, if it is there, is `length` numbers of a type.
inline int32_t check_numbers(const bitgate_tensor& tensor, int32_t dtype, int64_t length,
                             bitgate_reason* reason) noexcept {
  if (tensor.rank != 0 && tensor.dtype != dtype)
    BITGATE_BAD(reason, "problem", "%s is of type %s: it must be %s", tensor.role, dtype_name(tensor.dtype),
                dtype_name(dtype));
  return check_tensor(tensor, false, &length, 1, reason);
}

// The lengths that q and k say, held against those of all tensors; `paged_keys`: k and v are pages of them.
inline int32_t check_masked(MaskedAttention& to, std::initializer_list<HeadTensor> others,
                            bitgate_reason* reason, int64_t paged_keys = 0) noexcept {
  to.batch = to.q.lengths[0], to.heads = to.q.lengths[1], to.queries = to.q.lengths[2];
  to.keys = paged_keys != 0 ? paged_keys : to.k.lengths[2], to.head = to.q.lengths[3];
  if (to.kv_heads < 1 || to.heads % to.kv_heads != 0)
    BITGATE_BAD(reason, "problem", "%lld heads are no multiple of %lld heads of keys",
                static_cast<long long>(to.heads), static_cast<long long>(to.kv_heads));
  if (to.lengths.rank != 0 && to.lengths.dtype != BITGATE_I32)
    BITGATE_BAD(reason, "problem", "lengths is of type %s: it must be i32", dtype_name(to.lengths.dtype));
  const int64_t of_queries[] = {to.batch, to.heads, to.queries, to.head},
                of_keys[] = {paged_keys != 0 ? to.k.lengths[0] : to.batch, to.kv_heads, to.k.lengths[2],
                             to.head};
  const HeadTensor inputs[] = {
      {to.q, false, false}, {to.k, false, true}, {to.v, false, true}, {to.lengths, false, false, 1}};
  int32_t status = BITGATE_OK;
  for (const auto& one : inputs)
    if (status == BITGATE_OK)
      status =
          check_tensor(one.tensor, one.is_written, one.is_of_keys ? of_keys : of_queries, one.rank, reason);
  for (const auto& one : others)
    if (status == BITGATE_OK)
      status =
          check_tensor(one.tensor, one.is_written, one.is_of_keys ? of_keys : of_queries, one.rank, reason);
  return status;
}

} // namespace detail

inline int32_t read(const bitgate_problem& problem, AttentionProblem& to, bitgate_reason* reason) noexcept {
  ProblemReader reader(problem, reason);
  int32_t has_lse = 0, is_packed = 0, is_paged = 0, is_scaled = 0;
  detail::read_masked(reader, to);
  reader.integer("lse", has_lse);
  reader.integer("packed", is_packed);
  reader.integer("paged", is_paged);
  reader.integer("scaled", is_scaled);
  to.lse = to.cu_q = to.cu_k = to.page_table = to.k_scale = to.v_scale = {};
  to.sequences = to.page = 0;
  int64_t paged_keys = 0;
  if (is_packed != 0) {
    reader.integer("b", to.sequences);
    reader.tensor("cu_seqlens_q", to.cu_q), reader.tensor("cu_seqlens_k", to.cu_k);
  }
  if (is_paged != 0)
    reader.integer("t", paged_keys), reader.tensor("page_table", to.page_table);
  if (is_scaled != 0)
    reader.tensor("k_scale", to.k_scale), reader.tensor("v_scale", to.v_scale);
  reader.tensor("o", to.o);
  if (has_lse != 0)
    reader.tensor("lse", to.lse);
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  if (has_lse != 0 && to.lse.dtype != BITGATE_F32)
    BITGATE_BAD(reason, "problem", "lse is of type %s: it must be f32", dtype_name(to.lse.dtype));
  if (is_packed != 0) {
    if (to.sequences < 1 || to.lengths.rank != 0)
      BITGATE_BAD(reason, "problem", "%lld packed sequences%s: 1 or more are due, without lengths",
                  static_cast<long long>(to.sequences), to.lengths.rank != 0 ? " with lengths" : "");
    for (bitgate_tensor* tensor : {&to.q, &to.k, &to.v, &to.o, &to.lse})
      detail::as_batch(*tensor);
    for (const bitgate_tensor* tensor : {&to.cu_q, &to.cu_k})
      if (const int32_t status = detail::check_numbers(*tensor, BITGATE_I32, to.sequences + 1, reason);
          status != BITGATE_OK)
        return status;
  }
  if (is_paged != 0) {
    if (is_packed != 0 || paged_keys < 1 || to.k.rank != 4)
      BITGATE_BAD(reason, "problem", "%lld keys in pages, k of rank %d: keys and rank 4 are due, not packed",
                  static_cast<long long>(paged_keys), to.k.rank);
    to.page = to.k.lengths[2];
    const int64_t table[] = {to.q.lengths[0], (paged_keys + to.page - 1) / to.page};
    if (to.page_table.dtype != BITGATE_I32)
      BITGATE_BAD(reason, "problem", "page_table is of type %s: it must be i32",
                  dtype_name(to.page_table.dtype));
    if (const int32_t status = detail::check_tensor(to.page_table, false, table, 2, reason);
        status != BITGATE_OK)
      return status;
  }
  for (const bitgate_tensor* tensor : {&to.k_scale, &to.v_scale})
    if (const int32_t status = detail::check_numbers(*tensor, BITGATE_F32, to.kv_heads, reason);
        status != BITGATE_OK)
      return status;
  return detail::check_masked(to, {{to.o, true, false}, {to.lse, true, false, 3}}, reason, paged_keys);
}

inline int32_t read(const bitgate_problem& problem, AttentionBackwardProblem& to,
                    bitgate_reason* reason) noexcept {
  ProblemReader reader(problem, reason);
  int32_t is_saved = 0;
  detail::read_masked(reader, to);
  reader.integer("saved", is_saved);
  to.o = to.lse = {};
  if (is_saved != 0)
    reader.tensor("o", to.o), reader.tensor("lse", to.lse);
  reader.tensor("do", to.d_o), reader.tensor("dq", to.dq);
  reader.tensor("dk", to.dk), reader.tensor("dv", to.dv);
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  if (is_saved != 0 && to.lse.dtype != BITGATE_F32)
    BITGATE_BAD(reason, "problem", "lse is of type %s: it must be f32", dtype_name(to.lse.dtype));
  return detail::check_masked(to,
                              {{to.d_o, false, false},
                               {to.o, false, false},
                               {to.lse, false, false, 3},
                               {to.dq, true, false},
                               {to.dk, true, true},
                               {to.dv, true, true}},
                              reason);
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         AttentionProblem::Buffers& to) noexcept {
  to.q = buffer_of(problem, buffers, "q");
  to.k = buffer_of(problem, buffers, "k");
  to.v = buffer_of(problem, buffers, "v");
  to.lengths = static_cast<const int32_t*>(buffer_of(problem, buffers, "lengths"));
  to.cu_q = static_cast<const int32_t*>(buffer_of(problem, buffers, "cu_seqlens_q"));
  to.cu_k = static_cast<const int32_t*>(buffer_of(problem, buffers, "cu_seqlens_k"));
  to.page_table = static_cast<const int32_t*>(buffer_of(problem, buffers, "page_table"));
  to.k_scale = static_cast<const float*>(buffer_of(problem, buffers, "k_scale"));
  to.v_scale = static_cast<const float*>(buffer_of(problem, buffers, "v_scale"));
  to.o = buffer_of(problem, buffers, "o");
  to.lse = static_cast<float*>(buffer_of(problem, buffers, "lse"));
  to.workspace = buffers.workspace;
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         AttentionBackwardProblem::Buffers& to) noexcept {
  to.q = buffer_of(problem, buffers, "q");
  to.k = buffer_of(problem, buffers, "k");
  to.v = buffer_of(problem, buffers, "v");
  to.d_o = buffer_of(problem, buffers, "do");
  to.o = buffer_of(problem, buffers, "o");
  to.lse = static_cast<const float*>(buffer_of(problem, buffers, "lse"));
  to.lengths = static_cast<const int32_t*>(buffer_of(problem, buffers, "lengths"));
  to.dq = buffer_of(problem, buffers, "dq");
  to.dk = buffer_of(problem, buffers, "dk");
  to.dv = buffer_of(problem, buffers, "dv");
  to.workspace = buffers.workspace;
}

// Strides of heads: element (b, h, row, column).
struct HeadLayout {
  int64_t batch, head, row, column;
};
inline HeadLayout head_layout(const bitgate_tensor& tensor) noexcept {
  return {tensor.strides[0], tensor.strides[1], tensor.strides[2], tensor.strides[3]};
}

// What a kernel needs of a problem. Without padding length_stride is -1.
struct AttentionGeometry {
  HeadLayout q, k, v, o, lse; // of lse the column is 0; backward, o is do
  int64_t heads, group, queries, keys, head, window, length_stride;
  float scale;
  KeyMask mask;
  int64_t sequences;    // packed ones; else 0
  int64_t table_stride; // of batches
  uint32_t page;        // keys of a page; 0: they are in a row
  uint32_t zero;        // no byte of a kernel's argument is left undefined
};
inline AttentionGeometry attention_geometry(const MaskedAttention& of, const bitgate_tensor& o,
                                            const HeadLayout& lse = {}) noexcept {
  return {head_layout(of.q),
          head_layout(of.k),
          head_layout(of.v),
          head_layout(o),
          lse,
          of.heads,
          of.heads / of.kv_heads,
          of.queries,
          of.keys,
          of.head,
          of.window,
          of.lengths.rank == 0 ? -1 : of.lengths.strides[0],
          static_cast<float>(1.0 / std::sqrt(static_cast<double>(of.head))),
          of.mask,
          0,
          0,
          0,
          0};
}

inline AttentionGeometry attention_geometry(const AttentionProblem& of) noexcept {
  AttentionGeometry geometry =
      attention_geometry(of, of.o, of.lse.rank == 0 ? HeadLayout{} : head_layout(of.lse));
  geometry.sequences = of.sequences;
  geometry.table_stride = of.page == 0 ? 0 : of.page_table.strides[0];
  geometry.page = static_cast<uint32_t>(of.page);
  return geometry;
}

// Where a row of a head begins.
BITGATE_HD inline int64_t row_at(const HeadLayout& of, int64_t batch, int64_t head, int64_t row) {
  return batch * of.batch + head * of.head + row * of.row;
}

// The scale of a head of keys or values: 1 without scales.
BITGATE_HD inline float scale_of(const float* scales, int64_t head) {
  return scales == nullptr ? 1.0f : scales[head];
}

// Where a key begins, or its values, of pages by the table of its batch.
BITGATE_HD inline int64_t in_page(const HeadLayout& of, const int32_t* table, uint32_t page, int64_t key) {
  const uint32_t at = static_cast<uint32_t>(key), number = at / page;
  return table[number] * of.batch + (at - number * page) * of.row;
}

// A sequence: where its queries and keys begin in their batch, and how many there are.
struct Sequence {
  int64_t query, queries, key, keys;
};
// The one that is all of a batch.
BITGATE_HD inline Sequence whole_batch(const AttentionGeometry& of) {
  return {0, of.queries, 0, of.keys};
}
// One of those that are packed.
BITGATE_HD inline Sequence packed_sequence(const int32_t* cu_q, const int32_t* cu_k, int64_t number) {
  return {cu_q[number], cu_q[number + 1] - cu_q[number], cu_k[number], cu_k[number + 1] - cu_k[number]};
}

// The keys from `first` up to `end` that a query admits; none where end <= first. Both count in a sequence.
struct KeyRange {
  int64_t first, end;
};
BITGATE_HD inline KeyRange admitted_keys(const AttentionGeometry& of, const Sequence& in,
                                         const int32_t* lengths, int64_t batch, int64_t query) {
  const int64_t last = query + 1 + in.keys - in.queries;
  KeyRange range{0, in.keys};
  if (of.mask != KeyMask::full && last < range.end)
    range.end = last;
  if (of.mask == KeyMask::window && last > of.window)
    range.first = last - of.window;
  if (of.length_stride >= 0) {
    const int64_t length = lengths[batch * of.length_stride];
    range.end = length < range.end ? length : range.end;
  }
  return range;
}
BITGATE_HD inline KeyRange admitted_keys(const AttentionGeometry& of, const int32_t* lengths, int64_t batch,
                                         int64_t query) {
  return admitted_keys(of, whole_batch(of), lengths, batch, query);
}

inline constexpr float ln_2 = 0.693147181f;

// Cells that a workspace may have.
inline constexpr double most_attention_cells = 0x1p50;

// dtypes: keys and values are of Key, every other element of what is there is of T.
template <class T, class Key = T>
int32_t check_attention_types(const MaskedAttention& of, std::initializer_list<const bitgate_tensor*> others,
                              bitgate_reason* reason) noexcept {
  const auto check = [reason](const bitgate_tensor& tensor, int32_t dtype) noexcept -> int32_t {
    if (tensor.rank != 0 && tensor.dtype != dtype)
      BITGATE_REFUSE(reason, "dtypes", "%s is %s: it must be %s", tensor.role, dtype_name(tensor.dtype),
                     dtype_name(dtype));
    return BITGATE_OK;
  };
  if (const int32_t status = check(of.q, code_of<T>); status != BITGATE_OK)
    return status;
  for (const bitgate_tensor* tensor : {&of.k, &of.v})
    if (const int32_t status = check(*tensor, code_of<Key>); status != BITGATE_OK)
      return status;
  for (const bitgate_tensor* tensor : others)
    if (const int32_t status = check(*tensor, code_of<T>); status != BITGATE_OK)
      return status;
  return BITGATE_OK;
}

// dtypes, then index_range: counts of cells fit 64 bits.
template <class T, class Key = T>
int32_t check_attention(const MaskedAttention& of, std::initializer_list<const bitgate_tensor*> others,
                        bitgate_reason* reason) noexcept {
  if (const int32_t status = check_attention_types<T, Key>(of, others, reason); status != BITGATE_OK)
    return status;
  const double cells = static_cast<double>(of.batch) * static_cast<double>(of.heads) *
                       static_cast<double>(of.queries) * static_cast<double>(of.keys + of.head);
  if (cells > most_attention_cells)
    BITGATE_REFUSE(reason, "index_range", "b h s (t + d) is %.0f: at most 2^50", cells);
  return BITGATE_OK;
}

// layout: the numbers that say where sequences, pages and scales are lie next to each other.
inline int32_t check_neighbours(const AttentionProblem& of, bitgate_reason* reason) noexcept {
  for (const bitgate_tensor* tensor : {&of.cu_q, &of.cu_k, &of.page_table, &of.k_scale, &of.v_scale})
    if (tensor->rank != 0 && tensor->strides[tensor->rank - 1] != 1)
      BITGATE_REFUSE(reason, "layout", "numbers of %s are %lld apart: it must be 1", tensor->role,
                     static_cast<long long>(tensor->strides[tensor->rank - 1]));
  return BITGATE_OK;
}

} // namespace bitgate
