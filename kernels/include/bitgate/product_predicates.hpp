// Clauses that convolutions and GEMMs share. Their names are stable: tests and reports quote them.
#pragma once

#include "bitgate/products.hpp"

namespace bitgate {

// The types that an instance takes, by the tensors' roles in the forward pass.
struct ProductDtypes {
  int32_t in, wei, out, compute;
  int32_t in_compute = compute, wei_compute = compute, out_compute = compute;
};

// dtypes: the tensors and the multiplicands are as the instance wants them, and D is of a type that every one
// reads.
template <class Problem>
int32_t check_dtypes(const Problem& problem, const ProductDtypes& wanted, bitgate_reason* reason) noexcept {
  const struct {
    const char* name;
    int32_t dtype, wanted;
  } parts[] = {{"in", problem.in.dtype, wanted.in},
               {"wei", problem.wei.dtype, wanted.wei},
               {"out", problem.out.dtype, wanted.out},
               {"in_compute", problem.in_compute, wanted.in_compute},
               {"wei_compute", problem.wei_compute, wanted.wei_compute},
               {"out_compute", problem.out_compute, wanted.out_compute},
               {"compute", problem.compute_dtype, wanted.compute}};
  for (const auto& part : parts)
    if (part.dtype != part.wanted)
      BITGATE_REFUSE(reason, "dtypes", "%s is %s, this instance takes %s", part.name, dtype_name(part.dtype),
                     dtype_name(part.wanted));
  const int32_t result = result_of(problem).dtype;
  for (int i = 0; i < problem.num_d && i < BITGATE_MAX_D; ++i)
    if (!is_d_dtype(problem.d[i].dtype, result))
      BITGATE_REFUSE(reason, "dtypes", "d[%d] is %s, this instance takes %s, f32, f16 and bf16", i,
                     dtype_name(problem.d[i].dtype), dtype_name(result));
  return BITGATE_OK;
}

// num_d: the result's operation gets the D tensors that it reads, each shaped like the result
// (stride 0 broadcasts).
template <class Problem>
int32_t check_result_operation(const Problem& problem, bitgate_reason* reason) noexcept {
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

// op: the operands pass unchanged; and the result's operation.
template <class Problem> int32_t check_operations(const Problem& problem, bitgate_reason* reason) noexcept {
  if (problem.in_op.kind != BITGATE_PASS || problem.wei_op.kind != BITGATE_PASS)
    BITGATE_REFUSE(reason, "op", "element-wise operations on in (%d) and wei (%d) are not supported",
                   problem.in_op.kind, problem.wei_op.kind);
  return check_result_operation(problem, reason);
}

// op: an operand takes an operation that reads no D tensor; the result's own is out_op, whichever tensor it
// is.
template <class Problem>
int32_t check_operand_operations(const Problem& problem, bitgate_reason* reason) noexcept {
  const struct {
    const char* name;
    int32_t kind;
    bool is_result;
  } parts[] = {{"in", problem.in_op.kind, &result_of(problem) == &problem.in},
               {"wei", problem.wei_op.kind, &result_of(problem) == &problem.wei}};
  for (const auto& part : parts)
    if (part.kind != BITGATE_PASS &&
        (part.is_result || (part.kind != BITGATE_SCALE && part.kind != BITGATE_RELU)))
      BITGATE_REFUSE(reason, "op", "element-wise operation %d on %s, which is %s", part.kind, part.name,
                     part.is_result ? "the result" : "an operand: it takes scale or relu");
  return BITGATE_OK;
}

// split_k: the reduction is not split; auto resolves to 1.
inline int32_t check_unsplit(const Products& problem, bitgate_reason* reason) noexcept {
  if (problem.split_k != 1 && problem.split_k != BITGATE_SPLIT_K_AUTO)
    BITGATE_REFUSE(reason, "split_k", "split_k = %d: only 1 is supported", problem.split_k);
  return BITGATE_OK;
}

} // namespace bitgate
