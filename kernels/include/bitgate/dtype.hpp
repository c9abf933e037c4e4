// Names and sizes of the types of enum bitgate_dtype.
#pragma once

#include <cstdint>
#include <cstring>

#include "bitgate/abi.h"

namespace bitgate {

struct DtypeRow {
  const char* name;
  int bytes;
};

// In the order of the codes.
inline constexpr DtypeRow dtype_rows[] = {{"f64", 8},     {"f32", 4},   {"f16", 2},    {"bf16", 2},
                                          {"i8", 1},      {"f8ocp", 1}, {"bf8ocp", 1}, {"f8fnuz", 1},
                                          {"bf8fnuz", 1}, {"i32", 4}};
inline constexpr int32_t dtype_count = sizeof dtype_rows / sizeof *dtype_rows;

inline constexpr DtypeRow dtype_row(int32_t dtype) noexcept {
  return dtype >= 0 && dtype < dtype_count ? dtype_rows[dtype] : DtypeRow{"unknown", 1};
}
inline const char* dtype_name(int32_t dtype) noexcept {
  return dtype_row(dtype).name;
}
inline int dtype_bytes(int32_t dtype) noexcept {
  return dtype_row(dtype).bytes;
}

// The code of a dtype's name; -1 for a name that there is not.
inline int32_t dtype_named(const char* name) noexcept {
  for (int32_t dtype = 0; dtype < dtype_count; ++dtype)
    if (std::strcmp(dtype_rows[dtype].name, name) == 0)
      return dtype;
  return -1;
}

} // namespace bitgate
