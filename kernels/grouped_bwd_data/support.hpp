// Which problems an instance takes: the clauses, in the order in which they are tested. Included by the
// library's own unit only.
#pragma once

#include "bitgate/implicit_gemm/bwd_data/support.hpp"
#include "bitgate/implicit_gemm/image_chunks.hpp"
#include "dispatch.hpp"

namespace grouped_bwd_data {

inline constexpr int32_t max_split_k = 128;

Cut cut_of(const Facts& facts, const bitgate::ConvRequest& request) {
  const bitgate::ConvProblem& problem = request.problem;
  const int64_t chunks = image_chunks(problem, bitgate::dtype_bytes(facts.c), bitgate::dtype_bytes(facts.a),
                                      request.options.integer("split_n_bytes"));
  return {chunks, problem.split_k == BITGATE_SPLIT_K_AUTO ? 1 : problem.split_k};
}

// split_k, split_k_op: slices add their rounded sums to dx, so there are not too many, and what is applied to
// a sum must be the identity: a scale, a D tensor or a relu would act on each slice by itself.
inline int32_t check_split_k(const bitgate::ConvProblem& problem, bitgate_reason* reason) {
  if (problem.split_k == BITGATE_SPLIT_K_AUTO || problem.split_k == 1)
    return BITGATE_OK;
  if (problem.split_k < 1 || problem.split_k > max_split_k)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: at most %d", problem.split_k, max_split_k);
  if (problem.out_op.kind != BITGATE_PASS || problem.num_d != 0)
    BITGATE_REFUSE(reason, "split_k_op",
                   "split_k = %d with element-wise operation %d and %d D tensors: each slice would apply it",
                   problem.split_k, problem.out_op.kind, problem.num_d);
  return BITGATE_OK;
}

int32_t supports(const Facts& facts, const bitgate::ConvRequest& request, bitgate_reason* reason) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  Clauses clauses{bitgate::read_conv(problem, shape, reason)};
  clauses.check([&] { return bitgate::check_dtypes(problem, dtypes_of(facts), reason); });
  clauses.check([&] { return bitgate::check_operations(problem, reason); });
  clauses.check([&] { return check_split_k(problem, reason); });
  clauses.check([&] { return check_vectors(facts, problem, reason); });
  clauses.check([&] { return check_index_range(facts, shape, cut_of(facts, request), max_bucket, reason); });
  return clauses.status;
}

} // namespace grouped_bwd_data
