// What convolutions and GEMMs have in common: two operands are multiplied and summed, and an element-wise
// operation, which may read D tensors, makes a result cell of each sum.
//
// Roles of tensors are those of the forward pass whatever is computed: in = x (GEMM: A), wei = w (GEMM: B),
// out = y (GEMM: C), d0 ... shaped like the result, with strides and a type of their own. Attributes, with
// their defaults:
//     op = "pass", alpha = 1, beta = 0            on the sum (elementwise.hpp)
//     in_op, wei_op = "pass", in_alpha ...        on each element of an operand before it is multiplied
//     compute = the narrower of in and wei        type of the multiplicands, as text
//     in_compute, wei_compute, out_compute = compute   that of one operand
//     split_k = 1                                 slices of the reduction; -1: as the kernel likes
//     d_aliases_output = 0                        bit i: d<i> is the result's own buffer
#pragma once

#include "bitgate/dtype.hpp"
#include "bitgate/elementwise.hpp"
#include "bitgate/problem.hpp"
#include "bitgate/record.hpp"

#define BITGATE_MAX_D 4
#define BITGATE_SPLIT_K_AUTO (-1)

namespace bitgate {

// Device pointers, by role.
struct Buffers {
  void* in;
  void* wei;
  void* out;
  const void* d[BITGATE_MAX_D];
  void* workspace;
  int64_t workspace_bytes;
};

struct Products {
  using Buffers = bitgate::Buffers;

  bitgate_tensor in, wei, out, d[BITGATE_MAX_D];
  int32_t num_d;
  Elementwise in_op, wei_op, out_op;
  int32_t compute_dtype;
  int32_t in_compute, wei_compute, out_compute; // one operand's own, else compute_dtype
  int32_t split_k;
  int32_t alignment; // promised for every base pointer, in bytes
  int32_t d_aliases_output;

  // What a record says unless the kernel knows better.
  static void begin(bitgate_dispatch_record& record) noexcept { note(record, "split_k", 1); }
};

namespace detail {

inline void read_elementwise(ProblemReader& reader, const char* name, const char* alpha, const char* beta,
                             Elementwise& to) noexcept {
  const char* kind = "pass";
  to = {BITGATE_PASS, 0, 1, 0};
  reader.text(name, kind);
  reader.real(alpha, to.alpha);
  reader.real(beta, to.beta);
  to.kind = elementwise_named(kind);
  if (to.kind < 0)
    reader.fail(BITGATE_REFUSED, "op", "element-wise operation '%s' (%s) is unknown", kind, name);
}

inline void read_compute(ProblemReader& reader, const char* name, int32_t& to) noexcept {
  const char* type = nullptr;
  reader.text(name, type);
  if (type != nullptr && (to = dtype_named(type)) < 0)
    reader.fail(BITGATE_REFUSED, "dtypes", "%s type '%s' is unknown", name, type);
}

inline int32_t narrower(int32_t one, int32_t other) noexcept {
  return dtype_bytes(one) <= dtype_bytes(other) ? one : other;
}

} // namespace detail

// All but what is the operation's own. D tensors are counted up to the first that is absent.
inline void read_products(ProblemReader& reader, const bitgate_problem& problem, Products& to) noexcept {
  static constexpr const char* d_roles[BITGATE_MAX_D] = {"d0", "d1", "d2", "d3"};
  reader.tensor("in", to.in);
  reader.tensor("wei", to.wei);
  reader.tensor("out", to.out);
  to.num_d = 0;
  for (int i = 0; i < BITGATE_MAX_D; ++i)
    if (reader.optional_tensor(d_roles[i], to.d[i]) && to.num_d == i)
      ++to.num_d;
  detail::read_elementwise(reader, "in_op", "in_alpha", "in_beta", to.in_op);
  detail::read_elementwise(reader, "wei_op", "wei_alpha", "wei_beta", to.wei_op);
  detail::read_elementwise(reader, "op", "alpha", "beta", to.out_op);
  if (to.num_d > 0)
    to.out_op.d_dtype = to.d[0].dtype;
  detail::read_compute(reader, "compute", to.compute_dtype = detail::narrower(to.in.dtype, to.wei.dtype));
  detail::read_compute(reader, "in_compute", to.in_compute = to.compute_dtype);
  detail::read_compute(reader, "wei_compute", to.wei_compute = to.compute_dtype);
  detail::read_compute(reader, "out_compute", to.out_compute = to.compute_dtype);
  to.split_k = 1;
  reader.integer("split_k", to.split_k);
  to.d_aliases_output = 0;
  reader.integer("d_aliases_output", to.d_aliases_output);
  to.alignment = problem.alignment;
}

// The result is written, everything else only read.
inline void check_access(ProblemReader& reader, const Products& problem,
                         const bitgate_tensor& result) noexcept {
  const auto check = [&](const bitgate_tensor& tensor) {
    const bool is_result = &tensor == &result, is_written = (tensor.access & BITGATE_WRITTEN) != 0;
    if (tensor.rank > 0 && is_result != is_written)
      reader.fail(BITGATE_BAD_ARGUMENT, "problem", "%s is %swritten, and %s", tensor.role,
                  is_written ? "" : "not ", is_result ? "the result" : "not the result");
  };
  check(problem.in), check(problem.wei), check(problem.out);
  for (const bitgate_tensor& d : problem.d)
    check(d);
}

// One GEMM of those that a problem is computed as: a part of the record.
struct GemmPart {
  static constexpr const char* columns =
      "index,bucket,launched,main_loop,tilde0,tilde1,tilde2,taps0,taps1,taps2,begin0,begin1,begin2,"
      "length0,length1,length2,m,n,k,first_block,blocks";

  int64_t index;           // in host order
  int64_t bucket;          // launch set that it belongs to
  int64_t launched;        // 0: no launch covered it
  int64_t main_loop;       // 1: the K loop runs more than one block
  int64_t tilde[3];        // of bwd_data: residue class per axis
  int64_t taps[3];         // filter taps per axis (dot slice)
  int64_t slice_begin[3];  // window positions per axis
  int64_t slice_length[3]; // 0: not told
  int64_t m, n, k;
  int64_t first_block; // in its launch's grid
  int64_t blocks;
};

// How many GEMMs there are, and in how many launch sets.
inline void note_gemms(bitgate_dispatch_record& record, int64_t gemms_count, int64_t buckets) noexcept {
  note(record, "gemms_count", gemms_count);
  note(record, "buckets", buckets);
}

inline void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers,
                         Buffers& to) noexcept {
  static constexpr const char* d_roles[BITGATE_MAX_D] = {"d0", "d1", "d2", "d3"};
  to.in = buffer_of(problem, buffers, "in");
  to.wei = buffer_of(problem, buffers, "wei");
  to.out = buffer_of(problem, buffers, "out");
  for (int i = 0; i < BITGATE_MAX_D; ++i)
    to.d[i] = buffer_of(problem, buffers, d_roles[i]);
  to.workspace = buffers.workspace;
  to.workspace_bytes = buffers.workspace_bytes;
}

} // namespace bitgate
