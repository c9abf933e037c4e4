// Guard zones beside the buffers of a launch: their bytes hold a canary, before and behind it.
#pragma once

#include "answers.hpp"

namespace device_tools {

inline constexpr int max_zones = 32;

// Mirrored by ZONE in tools_abi.py.
struct Zone {
  uint64_t address, bytes;
};

struct Zones {
  Zone zone[max_zones];
};

// What the caller has, as an argument of a kernel.
inline Zones zones_of(const Zone* zones, int32_t count) {
  Zones all{};
  for (int32_t i = 0; i < count; ++i)
    all.zone[i] = zones[i];
  return all;
}

// Calls use(byte) for this thread's share of a zone, which the blocks of a row of the grid have together.
template <class Use> __device__ __forceinline__ void each_byte(const Zone& zone, Use use) {
  auto* const bytes = reinterpret_cast<uint8_t*>(zone.address);
  each(static_cast<int64_t>(zone.bytes), [&](int64_t index) { use(bytes[index]); });
}

__device__ __forceinline__ void guard(const Zone& zone, uint32_t canary) {
  each_byte(zone, [&](uint8_t& byte) { byte = static_cast<uint8_t>(canary); });
}

// answer: how many bytes are not `canary`.
__device__ __forceinline__ void count_damage(const Zone& zone, uint32_t canary, Word* answer) {
  Word count = 0;
  each_byte(zone, [&](const uint8_t& byte) { count += byte != canary; });
  add_answer(answer, count);
}

} // namespace device_tools
