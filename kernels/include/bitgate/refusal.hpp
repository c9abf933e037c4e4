// Why a call was not carried out, as data: a stable clause and one sentence with the values.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "bitgate/abi.h"

namespace bitgate {

// Fills `reason` (may be null) and returns `status`.
__attribute__((format(printf, 4, 0))) inline int32_t because_of(int32_t status, bitgate_reason* reason,
                                                                const char* clause, const char* format,
                                                                va_list values) noexcept {
  if (reason == nullptr)
    return status;
  std::snprintf(reason->clause, sizeof reason->clause, "%s", clause);
  std::vsnprintf(reason->text, sizeof reason->text, format, values);
  return status;
}

// The same with the values as they are, so that a check reads: return because(...).
__attribute__((format(printf, 4, 5))) inline int32_t
because(int32_t status, bitgate_reason* reason, const char* clause, const char* format, ...) noexcept {
  va_list values;
  va_start(values, format);
  because_of(status, reason, clause, format, values);
  va_end(values);
  return status;
}

#define BITGATE_REFUSE(reason, clause, ...)                                                                  \
  return ::bitgate::because(BITGATE_REFUSED, reason, clause, __VA_ARGS__)
#define BITGATE_BAD(reason, clause, ...)                                                                     \
  return ::bitgate::because(BITGATE_BAD_ARGUMENT, reason, clause, __VA_ARGS__)

} // namespace bitgate
