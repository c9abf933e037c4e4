// A batched GEMM as a launch sees it: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] ). For the kernels
// of kernels/batched_gemm, and for whoever finds a GEMM in a problem of another kind.
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/layout.hpp"

namespace bitgate::implicit_gemm::batched_gemm {

struct Geometry {
  int32_t m, n, k;
  int32_t slices; // split-K
  // In the logical order of the C ABI: A (batch, M, K), B (batch, N, K), C and D (batch, M, N).
  Layout a, b, c, d;
  Elementwise op;
};

} // namespace bitgate::implicit_gemm::batched_gemm
