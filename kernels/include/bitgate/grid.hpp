// What a launch can have at most, and how many blocks cover a length.
#pragma once

#include <cstdint>

#include "bitgate/platform.hpp"

namespace bitgate {

inline constexpr int64_t max_length = int64_t{1} << 30; // a coordinate and a tile's length add up in 32 bits
inline constexpr int64_t max_blocks_yz = 65535;         // gridDim.y, gridDim.z
inline constexpr int64_t max_threads = 4294967295;      // gridDim.x * blockDim.x

BITGATE_HD constexpr int64_t ceil_div(int64_t a, int64_t b) noexcept {
  return (a + b - 1) / b;
}

} // namespace bitgate
