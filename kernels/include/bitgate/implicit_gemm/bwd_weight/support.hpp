// Which problems an instance takes. Included by the library's own unit only.
#pragma once

#include <cmath>

#include "bitgate/implicit_gemm/predicates.hpp"
#include "dispatch.hpp"

namespace bitgate::implicit_gemm::bwd_weight {
namespace {

// op: what a family without a second stage leaves out. A split reduction would apply it to each slice.
int32_t check_plain(const ConvProblem& problem, bitgate_reason* reason) {
  if (problem.out_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "element-wise operation %d on dw: this family has none",
                   problem.out_op.kind);
  return BITGATE_OK;
}

// split_k: atomics of the result's type exist, and the grid holds the slices.
int32_t check_split_k(const ConvProblem& problem, int32_t c, bool atomics, bitgate_reason* reason) {
  if (problem.split_k > max_blocks_yz)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: at most %lld", problem.split_k,
                   static_cast<long long>(max_blocks_yz));
  if (atomics && c == code_of<int8_t> && problem.split_k > 1)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: slices cannot be added up in i8", problem.split_k);
  return BITGATE_OK;
}

// merge_depthwise, merge_groups, merge_layout: merged groups stand where channels would.
int32_t check_merge(int merge, const ConvShape& shape, bitgate_reason* reason) {
  if (shape.c != 1 || shape.k != 1)
    BITGATE_REFUSE(reason, "merge_depthwise", "C = %lld, K = %lld: groups are merged only where both are 1",
                   static_cast<long long>(shape.c), static_cast<long long>(shape.k));
  if (shape.groups % merge != 0)
    BITGATE_REFUSE(reason, "merge_groups", "%lld groups are no multiple of %d",
                   static_cast<long long>(shape.groups), merge);
  if (shape.y.group != 1 || shape.x.group != 1)
    BITGATE_REFUSE(reason, "merge_layout",
                   "groups are %lld and %lld elements apart in dy and x: they must be neighbours",
                   static_cast<long long>(shape.y.group), static_cast<long long>(shape.x.group));
  return BITGATE_OK;
}

// index_range: lengths, coordinates, terms and columns are 32-bit in the kernel, offsets 64-bit; the grid has
// its own limits. Products that 64 bits may not hold are compared as doubles, which are exact at the limits.
int32_t check_index_range(const Facts& facts, const ConvProblem& problem, const ConvShape& shape,
                          int threads_of_block, bitgate_reason* reason) {
  double terms = static_cast<double>(shape.images), columns = static_cast<double>(shape.c);
  for (int axis = 0; axis < axes; ++axis) {
    terms *= static_cast<double>(shape.output[axis]);
    columns *= static_cast<double>(shape.filter[axis]);
  }
  columns *= facts.merge;
  double largest = std::fmax(std::fmax(terms, columns), static_cast<double>(shape.k));
  for (int i = 0; i < problem.ndim; ++i) {
    const int64_t padded = problem.in.lengths[3 + i] + problem.left_pad[i] + problem.right_pad[i];
    for (const int64_t length : {padded, problem.stride[i], problem.dilation[i]})
      largest = std::fmax(largest, static_cast<double>(length));
  }
  if (largest > static_cast<double>(max_length))
    BITGATE_REFUSE(reason, "index_range", "a length, coordinate or product of lengths of %.0f: at most %lld",
                   largest, static_cast<long long>(max_length));
  const int64_t rows = facts.merge > 1 ? facts.merge : shape.k;
  const double threads = static_cast<double>(ceil_div(rows, facts.tile_m)) *
                         std::ceil(columns / facts.tile_n) * threads_of_block;
  return check_grid(shape.groups / facts.merge, 1, threads, reason);
}

} // namespace

int32_t supports(const Facts& facts, const ConvRequest& request, const Capabilities& capabilities,
                 bitgate_reason* reason) {
  const ConvProblem& problem = request.problem;
  // A is dy, B is x, C is dw.
  const ProductDtypes dtypes{facts.b,         facts.c,       facts.a,        facts.compute,
                             facts.compute_b, facts.compute, facts.compute_a};
  const VectorAccess accesses[3] = {{problem.out, "out", "k_vector", facts.vector_a, dtype_bytes(facts.a)},
                                    {problem.in, "in", "c_vector", facts.vector_b, dtype_bytes(facts.b)},
                                    {problem.wei, "wei", "c_vector", facts.vector_c, dtype_bytes(facts.c)}};
  ConvShape shape;
  Clauses clauses{read_conv(problem, shape, reason)};
  const Contiguous contiguous[] = {
      {"k of dy", shape.y.column}, {"c of x", shape.x.column}, {"c of w", shape.w.column}};
  const auto check = [&](auto test) { clauses.check(test); };
  const bool merged = facts.merge > 1;
  check([&] { return check_dtypes(problem, dtypes, reason); });
  check([&] { return check_operations(problem, reason); });
  check([&] { return capabilities.operations ? int32_t{BITGATE_OK} : check_plain(problem, reason); });
  check([&] { return check_split_k(problem, facts.c, capabilities.atomics, reason); });
  check([&] { return check_contiguous(contiguous, problem, reason); });
  if (merged)
    check([&] { return check_merge(facts.merge, shape, reason); });
  check([&] { return check_specialisation(facts.special, problem, reason); });
  if (!merged)
    check([&] { return check_vector_access(accesses, problem.alignment, reason); });
  check([&] { return check_index_range(facts, problem, shape, capabilities.threads, reason); });
  return clauses.status;
}

} // namespace bitgate::implicit_gemm::bwd_weight
