// Which problems an instance takes: the clauses, in the order in which they are tested. Included by the
// library's own unit only.
#pragma once

#include "bitgate/implicit_gemm/predicates.hpp"
#include "dispatch.hpp"

namespace batched_gemm {

using bitgate::max_blocks_yz;
using bitgate::max_length;
using bitgate::max_threads;

// layout: the dimensions that the instance takes for contiguous are.
inline int32_t check_layout(const Orders& orders, const bitgate::GemmProblem& problem,
                            bitgate_reason* reason) {
  const struct {
    const char* what;
    int64_t stride;
  } contiguous[] = {
      {orders.a == Order::row ? "k of A" : "m of A", problem.in.strides[orders.contiguous_a()]},
      {orders.b == Order::row ? "n of B" : "k of B", problem.wei.strides[orders.contiguous_b()]},
      {"n of C", problem.out.strides[2]}};
  for (const auto& dimension : contiguous)
    if (dimension.stride != 1)
      BITGATE_REFUSE(reason, "layout", "%s has stride %lld in layouts %.12s, %.12s, %.12s: it must be 1",
                     dimension.what, static_cast<long long>(dimension.stride), problem.in.layout,
                     problem.wei.layout, problem.out.layout);
  return BITGATE_OK;
}

// split_k: slices add their sums up, and an operation on each would be another one.
inline int32_t check_split_k(const bitgate::GemmProblem& problem, bitgate_reason* reason) {
  if (problem.split_k > 1 && problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d with operation %d: slices are added without one",
                   problem.split_k, problem.out_op.kind);
  if (problem.split_k > max_blocks_yz)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: at most %lld", problem.split_k,
                   static_cast<long long>(max_blocks_yz));
  return BITGATE_OK;
}

// index_range: lengths are 32-bit in the kernel, offsets 64-bit; the grid has its own limits.
inline int32_t check_index_range(const Facts& facts, const bitgate::GemmProblem& problem,
                                 bitgate_reason* reason) {
  for (const int64_t length : {problem.m, problem.n, problem.k})
    if (length > max_length)
      BITGATE_REFUSE(reason, "index_range", "a length of %lld: at most %lld", static_cast<long long>(length),
                     static_cast<long long>(max_length));
  if (problem.batch > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range", "a batch of %lld: at most %lld",
                   static_cast<long long>(problem.batch), static_cast<long long>(max_blocks_yz));
  const double threads = static_cast<double>(ceil_div(problem.m, facts.tile_m)) *
                         static_cast<double>(ceil_div(problem.n, facts.tile_n)) * facts.block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                   static_cast<long long>(max_threads));
  return BITGATE_OK;
}

int32_t supports(const Facts& facts, const Orders& orders, const bitgate::GemmRequest& request,
                 bitgate_reason* reason) {
  const bitgate::GemmProblem& problem = request.problem;
  const bitgate::ProductDtypes dtypes{facts.a, facts.b, facts.c, facts.compute};
  Clauses clauses;
  const auto check = [&](auto test) { clauses.check(test); };
  const auto vector = [&](const char* clause, const char* name, int64_t length, int elements) {
    check([&] { return check_vector(clause, name, length, elements, reason); });
  };
  const auto alignment = [&](const bitgate_tensor& tensor, const char* name, int elements, int bytes,
                             int along) {
    check([&] { return check_alignment(tensor, name, elements, bytes, problem.alignment, reason, along); });
  };
  check([&] { return bitgate::check_dtypes(problem, dtypes, reason); });
  check([&] { return bitgate::check_operations(problem, reason); });
  check([&] { return check_split_k(problem, reason); });
  check([&] { return check_layout(orders, problem, reason); });
  if (orders.a == Order::row)
    vector("k_vector", "K", problem.k, facts.vector_a);
  else
    vector("m_vector", "M", problem.m, facts.vector_a);
  if (orders.b == Order::row)
    vector("n_vector", "N", problem.n, facts.vector_b);
  else
    vector("k_vector", "K", problem.k, facts.vector_b);
  vector("n_vector", "N", problem.n, facts.vector_c);
  alignment(problem.in, "A", facts.vector_a, bitgate::dtype_bytes(facts.a), orders.contiguous_a());
  alignment(problem.wei, "B", facts.vector_b, bitgate::dtype_bytes(facts.b), orders.contiguous_b());
  alignment(problem.out, "C", facts.vector_c, bitgate::dtype_bytes(facts.c), 2);
  check([&] { return check_index_range(facts, problem, reason); });
  return clauses.status;
}

} // namespace batched_gemm
