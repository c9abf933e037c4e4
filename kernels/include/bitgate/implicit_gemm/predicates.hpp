// Clauses that implicit GEMMs share beside those of every convolution: what moving vectors asks of the
// tensors.
#pragma once

#include "bitgate/conv_predicates.hpp"

namespace bitgate::implicit_gemm {

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

} // namespace bitgate::implicit_gemm
