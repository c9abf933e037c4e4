// Names and sizes of the types of enum bitgate_dtype.
#pragma once

#include <cstdint>
#include <cstring>

#include "bitgate/abi.h"

namespace bitgate {

inline constexpr const char* dtype_names[] = {"f64",   "f32",    "f16",    "bf16",    "i8",
                                              "f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz", "i32"};
inline constexpr int32_t dtype_count = sizeof dtype_names / sizeof *dtype_names;

inline const char* dtype_name(int32_t dtype) noexcept {
  return dtype >= 0 && dtype < dtype_count ? dtype_names[dtype] : "unknown";
}

inline int dtype_bytes(int32_t dtype) noexcept {
  constexpr int bytes[] = {8, 4, 2, 2, 1, 1, 1, 1, 1, 4};
  return dtype >= 0 && dtype < dtype_count ? bytes[dtype] : 1;
}

// The code of a dtype's name; -1 for a name that there is not.
inline int32_t dtype_named(const char* name) noexcept {
  for (int32_t dtype = 0; dtype < dtype_count; ++dtype)
    if (std::strcmp(dtype_names[dtype], name) == 0)
      return dtype;
  return -1;
}

} // namespace bitgate
