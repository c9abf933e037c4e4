// Why a call was not carried out, as data: a stable clause and one sentence with the values.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "bitgate/abi.h"

namespace bitgate {

// Fills `reason` (may be null) and returns `status`, so that a check reads: return because(...).
__attribute__((format(printf, 4, 5))) inline int32_t
because(int32_t status, bitgate_reason* reason, const char* clause, const char* format, ...) noexcept {
  if (reason == nullptr)
    return status;
  std::snprintf(reason->clause, sizeof reason->clause, "%s", clause);
  va_list values;
  va_start(values, format);
  std::vsnprintf(reason->text, sizeof reason->text, format, values);
  va_end(values);
  return status;
}

#define BITGATE_REFUSE(reason, clause, ...)                                                                  \
  return ::bitgate::because(BITGATE_REFUSED, reason, clause, __VA_ARGS__)
#define BITGATE_BAD(reason, clause, ...)                                                                     \
  return ::bitgate::because(BITGATE_BAD_ARGUMENT, reason, clause, __VA_ARGS__)

inline const char* dtype_name(int32_t dtype) noexcept {
  static constexpr const char* names[] = {"f64",   "f32",    "f16",    "bf16",    "i8",
                                          "f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz", "i32"};
  return dtype >= 0 && dtype < static_cast<int32_t>(sizeof names / sizeof *names) ? names[dtype] : "unknown";
}

inline const char* operation_name(int32_t operation) noexcept {
  static constexpr const char* names[] = {"fwd", "bwd_data", "bwd_weight", "gemm"};
  return operation >= 0 && operation < 4 ? names[operation] : "unknown";
}

} // namespace bitgate
