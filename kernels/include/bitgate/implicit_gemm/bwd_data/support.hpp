// Clauses of backward data: what vectors, indices and launches ask of a problem.
#pragma once

#include "bitgate/implicit_gemm/predicates.hpp"
#include "launches.hpp"

namespace bitgate::implicit_gemm::bwd_data {

inline constexpr int64_t max_gemms = 65536;

// index_range: lengths and coordinates are 32-bit in the kernel, offsets 64-bit; the grid has its own limits.
inline int32_t check_index_range(const Facts& facts, const ConvShape& shape, const Cut& cut,
                                 int gemms_a_launch, bitgate_reason* reason) {
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t window = shape.output[axis] + shape.dilation[axis] * (shape.filter[axis] - 1);
    const int64_t padded = shape.input[axis] + shape.left_pad[axis];
    for (const int64_t length : {window, padded, shape.stride[axis], shape.images, shape.c})
      if (length > max_length)
        BITGATE_REFUSE(reason, "index_range", "a length or coordinate of %lld: at most %lld",
                       static_cast<long long>(length), static_cast<long long>(max_length));
  }
  const int64_t gemms = count_gemms(shape);
  if (gemms > max_gemms)
    BITGATE_REFUSE(reason, "index_range", "%lld sub-GEMMs: at most %lld", static_cast<long long>(gemms),
                   static_cast<long long>(max_gemms));
  double terms = static_cast<double>(shape.k);
  for (int axis = 0; axis < axes; ++axis)
    terms *= static_cast<double>(shape.filter[axis]);
  if (terms > static_cast<double>(max_length))
    BITGATE_REFUSE(reason, "index_range", "a reduction over %.0f terms: at most %lld", terms,
                   static_cast<long long>(max_length));
  const int64_t parts = cut.chunks * cut.split_k;
  if (shape.groups > max_blocks_yz || parts > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range",
                   "%lld groups and %lld chunks of images and slices: at most %lld of each",
                   static_cast<long long>(shape.groups), static_cast<long long>(parts),
                   static_cast<long long>(max_blocks_yz));
  const Geometry geometry = make_geometry(shape, shape.images / cut.chunks, cut.split_k, {}, {});
  const double threads = static_cast<double>(ceil_div(rows_of(geometry), facts.tile_m)) *
                         static_cast<double>(ceil_div(shape.c, facts.tile_n)) * gemms_a_launch * facts.block;
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %d sub-GEMMs takes %.0f threads: at most %lld",
                   gemms_a_launch, threads, static_cast<long long>(max_threads));
  return BITGATE_OK;
}

// A is dy, B is w, C is dx.
inline ProductDtypes dtypes_of(const Facts& facts) {
  return {facts.c, facts.b, facts.a, facts.compute, facts.compute, facts.compute_b, facts.compute_a};
}

// k_vector, c_vector, alignment.
inline int32_t check_vectors(const Facts& facts, const ConvProblem& problem, bitgate_reason* reason) {
  const VectorAccess accesses[3] = {{problem.out, "out", "k_vector", facts.vector_a, dtype_bytes(facts.a)},
                                    {problem.wei, "wei", "c_vector", facts.vector_b, dtype_bytes(facts.b)},
                                    {problem.in, "in", "c_vector", facts.vector_c, dtype_bytes(facts.c)}};
  return check_vector_access(accesses, problem.alignment, reason);
}

} // namespace bitgate::implicit_gemm::bwd_data
