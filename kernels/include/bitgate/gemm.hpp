// A batched GEMM as the C ABI states it: C[b,m,n] = op( sum_k A[b,m,k] * B[b,k,n], d[b,m,n] ).
//
// Roles are in = A, wei = B, out = C, d0 = D. Logical order of lengths and strides: A (batch, M, K), B
// (batch, N, K), C and D (batch, M, N). Attributes: those of products.hpp.
#pragma once

#include "bitgate/products.hpp"
#include "bitgate/registry.hpp"

namespace bitgate {

struct GemmProblem : Products {
  int64_t batch, m, n, k;
};

inline const bitgate_tensor& result_of(const GemmProblem& problem) noexcept {
  return problem.out;
}

// BITGATE_BAD_ARGUMENT when the parts of `problem` contradict each other.
inline int32_t read(const bitgate_problem& problem, GemmProblem& to, bitgate_reason* reason) noexcept {
  ProblemReader reader(problem, reason);
  read_products(reader, problem, to);
  check_access(reader, to, to.out);
  if (const int32_t status = reader.finish(); status != BITGATE_OK)
    return status;
  to.batch = to.in.lengths[0], to.m = to.in.lengths[1], to.k = to.in.lengths[2], to.n = to.wei.lengths[1];
  const struct {
    const char* name;
    const bitgate_tensor& tensor;
    int64_t lengths[3];
  } parts[] = {{"A", to.in, {to.batch, to.m, to.k}},
               {"B", to.wei, {to.batch, to.n, to.k}},
               {"C", to.out, {to.batch, to.m, to.n}}};
  for (const auto& part : parts)
    if (part.tensor.rank != 3)
      BITGATE_BAD(reason, "problem", "%s has rank %d: a matrix of a batch has 3", part.name,
                  part.tensor.rank);
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

using GemmRequest = Request<GemmProblem>;
using GemmInstance = Instance<GemmProblem>;
using GemmRegistration = Registration<GemmProblem>;

} // namespace bitgate
