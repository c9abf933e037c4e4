// What a tensor of a problem must be, for operations that state their lengths themselves.
#pragma once

#include "bitgate/problem.hpp"

namespace bitgate {

namespace detail {

// BITGATE_BAD_ARGUMENT unless a tensor, if it is there, has these lengths, and the right access.
inline int32_t check_tensor(const bitgate_tensor& tensor, bool is_written, const int64_t* lengths, int rank,
                            bitgate_reason* reason) noexcept {
  if (tensor.rank == 0)
    return BITGATE_OK;
  if (((tensor.access & BITGATE_WRITTEN) != 0) != is_written)
    BITGATE_BAD(reason, "problem", "%s must be %s", tensor.role, is_written ? "written" : "read");
  if (tensor.rank != rank)
    BITGATE_BAD(reason, "problem", "%s has rank %d: it must be %d", tensor.role, tensor.rank, rank);
  for (int i = 0; i < rank; ++i)
    if (tensor.lengths[i] != lengths[i] || lengths[i] < 1 || tensor.strides[i] < 0)
      BITGATE_BAD(reason, "problem", "%s has length %lld and stride %lld in dimension %d: length %lld is due",
                  tensor.role, static_cast<long long>(tensor.lengths[i]),
                  static_cast<long long>(tensor.strides[i]), i, static_cast<long long>(lengths[i]));
  return BITGATE_OK;
}

} // namespace detail

} // namespace bitgate
