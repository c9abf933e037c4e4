// Clauses that implicit GEMMs share beside those of every convolution: what moving vectors asks of the
// tensors, and the limits of indices and grids.
#pragma once

#include "bitgate/grid.hpp"
#include "bitgate/implicit_gemm/axis.hpp"
#include "bitgate/implicit_gemm/tiling.hpp"
#include "bitgate/product_predicates.hpp"

namespace bitgate::implicit_gemm {

// Tests clauses one after the other, up to the first that fails.
struct Clauses {
  int32_t status = BITGATE_OK;

  template <class Test> void check(Test test) {
    if (status == BITGATE_OK)
      status = test();
  }
};

// k_vector, c_vector: a dimension holds whole vectors.
inline int32_t check_vector(const char* clause, const char* dimension, int64_t length, int vector,
                            bitgate_reason* reason) {
  if (length % vector != 0)
    BITGATE_REFUSE(reason, clause, "%s = %lld is not a multiple of the vector of %d", dimension,
                   static_cast<long long>(length), vector);
  return BITGATE_OK;
}

// alignment: every vector that a thread moves starts at a multiple of its size. Vectors lie along dimension
// `along`: 2, the channels, of a convolution.
inline int32_t check_alignment(const bitgate_tensor& tensor, const char* name, int vector, int element_bytes,
                               int promised, bitgate_reason* reason, int along = 2) {
  if (promised % (vector * element_bytes) != 0)
    BITGATE_REFUSE(reason, "alignment", "vectors of %d bytes in %s: only %d bytes of alignment are promised",
                   vector * element_bytes, name, promised);
  for (int i = 0; i < tensor.rank; ++i)
    if (i != along && tensor.lengths[i] > 1 && tensor.strides[i] % vector != 0)
      BITGATE_REFUSE(reason, "alignment",
                     "%s has stride %lld in dimension %d: not a multiple of the vector of %d", name,
                     static_cast<long long>(tensor.strides[i]), i, vector);
  return BITGATE_OK;
}

// A tensor in the vectors that threads move of it: `clause` names its channels, k_vector or c_vector.
struct VectorAccess {
  const bitgate_tensor& tensor;
  const char* name;
  const char* clause;
  int vector, element_bytes;
};

// k_vector, c_vector, alignment, for the three tensors in the order in which they are given.
inline int32_t check_vector_access(const VectorAccess (&tensors)[3], int promised, bitgate_reason* reason) {
  Clauses clauses;
  for (const VectorAccess& access : tensors)
    clauses.check([&] {
      const char* dimension = access.clause[0] == 'k' ? "K" : "C";
      return check_vector(access.clause, dimension, access.tensor.lengths[2], access.vector, reason);
    });
  for (const VectorAccess& access : tensors)
    clauses.check([&] {
      return check_alignment(access.tensor, access.name, access.vector, access.element_bytes, promised,
                             reason);
    });
  return clauses.status;
}

// layout: a dimension that threads take for contiguous is.
struct Contiguous {
  const char* what;
  int64_t stride;
};
template <int Count>
int32_t check_contiguous(const Contiguous (&dimensions)[Count], const Products& problem,
                         bitgate_reason* reason) {
  for (const Contiguous& dimension : dimensions)
    if (dimension.stride != 1)
      BITGATE_REFUSE(reason, "layout", "%s has stride %lld in layouts %.12s, %.12s: it must be 1",
                     dimension.what, static_cast<long long>(dimension.stride), problem.in.layout,
                     problem.wei.layout);
  return BITGATE_OK;
}

// filter_1x1, pad_0, stride_1: what a pointwise specialisation takes for granted. The right pad counts: with
// it the last window of a strided 1x1 filter may begin behind the image.
inline int32_t check_pointwise(const ConvProblem& problem, const char* path, bool unit_stride,
                               bitgate_reason* reason) {
  for (int i = 0; i < problem.ndim; ++i)
    if (problem.wei.lengths[3 + i] != 1)
      BITGATE_REFUSE(reason, "filter_1x1", "%s: the filter has %lld taps on axis %d", path,
                     static_cast<long long>(problem.wei.lengths[3 + i]), i);
  for (int i = 0; i < problem.ndim; ++i)
    if (problem.left_pad[i] != 0 || problem.right_pad[i] != 0)
      BITGATE_REFUSE(reason, "pad_0", "%s: axis %d is padded by %lld and %lld", path, i,
                     static_cast<long long>(problem.left_pad[i]),
                     static_cast<long long>(problem.right_pad[i]));
  for (int i = 0; i < problem.ndim; ++i)
    if (unit_stride && problem.stride[i] != 1)
      BITGATE_REFUSE(reason, "stride_1", "%s: stride %lld on axis %d", path,
                     static_cast<long long>(problem.stride[i]), i);
  return BITGATE_OK;
}

inline int32_t check_specialisation(Specialisation special, const ConvProblem& problem,
                                    bitgate_reason* reason) {
  const bool unit_stride = special == Specialisation::filter_1x1_stride_1_pad_0;
  return is_pointwise(special) ? check_pointwise(problem, path_name(special), unit_stride, reason)
                               : BITGATE_OK;
}

// index_range: a launch has no more groups, parts of images and of the reduction, and threads than a grid.
// Counts that 64 bits may not hold come as doubles, which are exact at the limits.
inline int32_t check_grid(int64_t groups, int64_t parts, double threads, bitgate_reason* reason) {
  if (groups > max_blocks_yz || parts > max_blocks_yz)
    BITGATE_REFUSE(reason, "index_range",
                   "%lld groups and %lld chunks of images or slices of the reduction: at most %lld of each",
                   static_cast<long long>(groups), static_cast<long long>(parts),
                   static_cast<long long>(max_blocks_yz));
  if (threads > static_cast<double>(max_threads))
    BITGATE_REFUSE(reason, "index_range", "a launch of %.0f threads: at most %lld", threads,
                   static_cast<long long>(max_threads));
  return BITGATE_OK;
}

} // namespace bitgate::implicit_gemm
