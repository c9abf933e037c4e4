// A batched GEMM as a launch sees it: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] ). For the kernels
// of kernels/batched_gemm, and for whoever finds a GEMM in a problem of another kind.
#pragma once

#include "bitgate/elementwise.hpp"

namespace bitgate::implicit_gemm::batched_gemm {

// Strides in elements, in the logical order of the C ABI: A (batch, M, K), B (batch, N, K), C and D (batch,
// M, N).
struct Strides {
  int64_t batch, row, column;
};

struct Geometry {
  int32_t m, n, k;
  int32_t slices; // split-K
  Strides a, b, c, d;
  bitgate::Elementwise op;
};

inline Strides strides_of(const bitgate_tensor& tensor) {
  return {tensor.strides[0], tensor.strides[1], tensor.strides[2]};
}

} // namespace bitgate::implicit_gemm::batched_gemm
