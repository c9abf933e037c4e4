// What kernels of layernorm and rmsnorm are given, and how a cell is finished.
#pragma once

#include "bitgate/rows.hpp"

namespace bitgate {

// Pointers of what is absent are null.
struct NormGeometry {
  int64_t rows, columns;
  RowLayout x, y;
  int64_t gamma, beta, mean, rstd; // strides
  int32_t is_centred;
  int32_t unused = 0; // bytes without a name hold what lay on the stack: no two launches would be alike
};

inline NormGeometry geometry_of(const NormProblem& problem) noexcept {
  return {problem.rows,
          problem.columns,
          row_layout(problem.x),
          row_layout(problem.y),
          problem.gamma.strides[0],
          problem.beta.strides[0],
          problem.mean.strides[0],
          problem.rstd.strides[0],
          problem.is_centred};
}

// One over the root of a row's variance (or mean square) plus epsilon.
BITGATE_HD inline float rstd_of(float variance) {
  return 1.0f / sqrtf(variance + norm_epsilon);
}

// The cell of y at column c.
template <class T>
BITGATE_HD inline T normalised(float x, float mean, float rstd, const T* gamma, const T* beta,
                               const NormGeometry& geometry, int64_t c) {
  float value = (x - mean) * rstd;
  if (gamma != nullptr)
    value *= Number<T>::widen(gamma[c * geometry.gamma]);
  if (beta != nullptr)
    value += Number<T>::widen(beta[c * geometry.beta]);
  return Number<T>::narrow(value);
}

template <class T> int32_t supports_norm(const Request<NormProblem>& request, bitgate_reason* reason) {
  const NormProblem& problem = request.problem;
  return check_row_dtypes<T>({&problem.x, &problem.gamma, &problem.beta, &problem.y}, reason);
}

} // namespace bitgate
