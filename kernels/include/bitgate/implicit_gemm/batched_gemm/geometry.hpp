// A batched GEMM as a launch sees it: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] ). For the kernels
// of kernels/batched_gemm, and for whoever finds a GEMM in a problem of another kind.
#pragma once

#include "bitgate/elementwise.hpp"
#include "bitgate/refusal.hpp"

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

// The sizes of a problem, as its three tensors agree on them.
struct Sizes {
  int64_t batch, m, n, k;
};

// BITGATE_BAD_ARGUMENT when the parts of `problem` contradict each other.
inline int32_t read_sizes(const bitgate_problem& problem, Sizes& sizes, bitgate_reason* reason) noexcept {
  if (problem.ndim != 0 || problem.in.rank != 3 || problem.wei.rank != 3 || problem.out.rank != 3)
    BITGATE_BAD(reason, "problem",
                "a GEMM has no spatial dimensions and tensors of rank 3, not %d and %d, %d, %d", problem.ndim,
                problem.in.rank, problem.wei.rank, problem.out.rank);
  sizes = {problem.in.lengths[0], problem.in.lengths[1], problem.wei.lengths[1], problem.in.lengths[2]};
  const struct {
    const char* name;
    const bitgate_tensor& tensor;
    int64_t lengths[3];
  } parts[] = {{"A", problem.in, {sizes.batch, sizes.m, sizes.k}},
               {"B", problem.wei, {sizes.batch, sizes.n, sizes.k}},
               {"C", problem.out, {sizes.batch, sizes.m, sizes.n}}};
  for (const auto& part : parts)
    for (int i = 0; i < 3; ++i) {
      if (part.tensor.lengths[i] != part.lengths[i] || part.lengths[i] < 1)
        BITGATE_BAD(reason, "problem", "%s has length %lld in dimension %d, the other matrices say %lld",
                    part.name, static_cast<long long>(part.tensor.lengths[i]), i,
                    static_cast<long long>(part.lengths[i]));
      if (part.tensor.strides[i] < 0)
        BITGATE_BAD(reason, "problem", "%s has the negative stride %lld in dimension %d", part.name,
                    static_cast<long long>(part.tensor.strides[i]), i);
    }
  return BITGATE_OK;
}

} // namespace bitgate::implicit_gemm::batched_gemm
