// Which problems an instance takes: the clauses, in the order in which they are tested. Included by
// the library's own unit only.
#pragma once

#include "bitgate/implicit_gemm/image_chunks.hpp"
#include "bitgate/implicit_gemm/predicates.hpp"
#include "dispatch.hpp"

namespace grouped_fwd {

// Chunks of images that a call is taken in.
inline int64_t chunks_of(const Facts& facts, const bitgate::ConvRequest& request) {
  return image_chunks(request.problem, bitgate::dtype_bytes(facts.a), bitgate::dtype_bytes(facts.c),
                      request.options.integer("split_n_bytes"));
}

// index_range: lengths, coordinates and the reduction are 32-bit in the kernel, offsets 64-bit; the grid has
// its own limits. Products that 64 bits may not hold are compared as doubles, which are exact at the limits.
inline int32_t check_index_range(const Facts& facts, const bitgate::ConvProblem& problem,
                                 const ConvShape& shape, int64_t chunks, bitgate_reason* reason) {
  for (int i = 0; i < problem.ndim; ++i) {
    const int64_t padded = problem.in.lengths[3 + i] + problem.left_pad[i] + problem.right_pad[i];
    for (const int64_t length : {padded, problem.stride[i], problem.dilation[i], shape.images, shape.k})
      if (length > bitgate::max_length)
        BITGATE_REFUSE(reason, "index_range", "a length or coordinate of %lld: at most %lld",
                       static_cast<long long>(length), static_cast<long long>(bitgate::max_length));
  }
  double terms = static_cast<double>(shape.c), positions = 1;
  for (int axis = 0; axis < axes; ++axis) {
    terms *= static_cast<double>(shape.filter[axis]);
    positions *= static_cast<double>(shape.output[axis]);
  }
  if (terms > static_cast<double>(bitgate::max_length))
    BITGATE_REFUSE(reason, "index_range", "a reduction over %.0f terms: at most %lld", terms,
                   static_cast<long long>(bitgate::max_length));
  const double rows = positions * static_cast<double>(shape.images / chunks);
  const double threads =
      std::ceil(rows / facts.tile_m) * static_cast<double>(ceil_div(shape.k, facts.tile_n)) * facts.block;
  return check_grid(shape.groups, chunks, threads, reason);
}

// A is x, B is w, C is y.
int32_t supports(const Facts& facts, const bitgate::ConvRequest& request, bitgate_reason* reason) {
  const bitgate::ConvProblem& problem = request.problem;
  const VectorAccess accesses[3] = {
      {problem.in, "in", "c_vector", facts.vector_a, bitgate::dtype_bytes(facts.a)},
      {problem.wei, "wei", "c_vector", facts.vector_b, bitgate::dtype_bytes(facts.b)},
      {problem.out, "out", "k_vector", facts.vector_c, bitgate::dtype_bytes(facts.c)}};
  const bitgate::ProductDtypes dtypes{facts.a, facts.b, facts.c, facts.compute};
  ConvShape shape;
  Clauses clauses{bitgate::read_conv(problem, shape, reason)};
  clauses.check([&] { return bitgate::check_dtypes(problem, dtypes, reason); });
  clauses.check([&] { return bitgate::check_operations(problem, reason); });
  clauses.check([&] { return bitgate::check_unsplit(problem, reason); });
  clauses.check([&] { return check_specialisation(facts.special, problem, reason); });
  clauses.check([&] { return check_vector_access(accesses, problem.alignment, reason); });
  clauses.check([&] { return check_index_range(facts, problem, shape, chunks_of(facts, request), reason); });
  return clauses.status;
}

} // namespace grouped_fwd
