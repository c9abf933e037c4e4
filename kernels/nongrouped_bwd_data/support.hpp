// Which problems an instance takes: the clauses, in the order in which they are tested. Included by the
// library's own unit only.
#pragma once

#include "bitgate/implicit_gemm/bwd_data/support.hpp"
#include "dispatch.hpp"

namespace nongrouped_bwd_data {

// groups, op: one group, and dx as it was summed.
inline int32_t check_plain(const bitgate::ConvProblem& problem, const ConvShape& shape,
                           bitgate_reason* reason) {
  if (shape.groups != 1)
    BITGATE_REFUSE(reason, "groups", "G = %lld: this kernel takes one group",
                   static_cast<long long>(shape.groups));
  if (problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "element-wise operation %d on dx: this kernel applies none",
                   problem.out_op.kind);
  return BITGATE_OK;
}

int32_t supports(const Facts& facts, const bitgate::ConvRequest& request, bitgate_reason* reason) {
  const bitgate::ConvProblem& problem = request.problem;
  ConvShape shape;
  Clauses clauses{bitgate::read_conv(problem, shape, reason)};
  const Contiguous contiguous[] = {
      {"k of dy", shape.y.column}, {"c of w", shape.w.column}, {"c of dx", shape.x.column}};
  clauses.check([&] { return bitgate::check_dtypes(problem, dtypes_of(facts), reason); });
  clauses.check([&] { return bitgate::check_operations(problem, reason); });
  clauses.check([&] { return check_plain(problem, shape, reason); });
  clauses.check([&] { return bitgate::check_unsplit(problem, reason); });
  clauses.check([&] { return check_contiguous(contiguous, problem, reason); });
  clauses.check([&] { return check_vectors(facts, problem, reason); });
  clauses.check([&] { return check_index_range(facts, shape, {1, 1}, 1, reason); });
  return clauses.status;
}

} // namespace nongrouped_bwd_data
