// Clauses that every convolution instance shares. Their names are stable: tests and reports quote them.
#pragma once

#include "bitgate/conv_shape.hpp"
#include "bitgate/elementwise.hpp"
#include "bitgate/number.hpp"

namespace bitgate {

// dtypes: all three tensors, D and the multiplicands have the instance's one type.
inline int32_t check_dtypes(const bitgate_problem& problem, int32_t dtype, bitgate_reason* reason) noexcept {
  const struct {
    const char* name;
    int32_t dtype;
  } parts[] = {{"in", problem.in.dtype},
               {"wei", problem.wei.dtype},
               {"out", problem.out.dtype},
               {"compute", problem.compute_dtype}};
  for (const auto& part : parts)
    if (part.dtype != dtype)
      BITGATE_REFUSE(reason, "dtypes", "%s is %s, this instance takes %s throughout", part.name,
                     dtype_name(part.dtype), dtype_name(dtype));
  for (int i = 0; i < problem.num_d && i < BITGATE_MAX_D; ++i)
    if (problem.d[i].dtype != dtype)
      BITGATE_REFUSE(reason, "dtypes", "d[%d] is %s, this instance takes %s throughout", i,
                     dtype_name(problem.d[i].dtype), dtype_name(dtype));
  return BITGATE_OK;
}

// op, num_d: the operands pass unchanged, the result takes a known operation with the D tensors that it
// reads, each shaped like the result (stride 0 broadcasts).
inline int32_t check_operations(const bitgate_problem& problem, bitgate_reason* reason) noexcept {
  if (problem.in_op.kind != BITGATE_PASS || problem.wei_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "element-wise operations on in (%d) and wei (%d) are not supported",
                   problem.in_op.kind, problem.wei_op.kind);
  if (problem.out_op.kind < BITGATE_PASS || problem.out_op.kind > BITGATE_RELU)
    BITGATE_REFUSE(reason, "op", "element-wise operation %d on the result is unknown", problem.out_op.kind);
  if (problem.num_d != num_d(problem.out_op.kind))
    BITGATE_REFUSE(reason, "num_d", "%d D tensors are given, the operation reads %d", problem.num_d,
                   num_d(problem.out_op.kind));
  const bitgate_tensor& result = result_of(problem);
  for (int i = 0; i < problem.num_d; ++i) {
    if (problem.d[i].rank != result.rank)
      BITGATE_BAD(reason, "problem", "d[%d] has rank %d, the result has %d", i, problem.d[i].rank,
                  result.rank);
    for (int axis = 0; axis < result.rank; ++axis)
      if (problem.d[i].lengths[axis] != result.lengths[axis] || problem.d[i].strides[axis] < 0)
        BITGATE_BAD(reason, "problem",
                    "d[%d] has length %lld and stride %lld in dimension %d, the result has length %lld", i,
                    static_cast<long long>(problem.d[i].lengths[axis]),
                    static_cast<long long>(problem.d[i].strides[axis]), axis,
                    static_cast<long long>(result.lengths[axis]));
  }
  return BITGATE_OK;
}

// split_k: the reduction is not split; auto resolves to 1.
inline int32_t check_unsplit(const bitgate_problem& problem, bitgate_reason* reason) noexcept {
  if (problem.split_k != 1 && problem.split_k != BITGATE_SPLIT_K_AUTO)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: only 1 is supported", problem.split_k);
  return BITGATE_OK;
}

} // namespace bitgate
