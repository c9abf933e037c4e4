// The fragments that this build has, by wave size: one line each. A fragment that a kernel uses and that is
// missing here is found by tests/verify/test_platform_probe.py.
#pragma once

#include "tiles.hpp"

namespace platform_probe {

inline const Entry fragments[] = {
#if BITGATE_HAS_WAVE(64)
    entry<Trial<bitgate::f16, bitgate::f16, 32, 32, 8, 64>>(),
    entry<Trial<bitgate::f16, bitgate::f16, 16, 16, 16, 64>>(),
    entry<Trial<bitgate::bf16, bitgate::bf16, 32, 32, 8, 64>>(),
    entry<Trial<bitgate::bf16, bitgate::bf16, 16, 16, 16, 64>>(),
    entry<Trial<float, float, 16, 16, 4, 64>>(),
#endif
#if BITGATE_HAS_WAVE(32)
    entry<Trial<bitgate::f16, bitgate::f16, 16, 16, 16, 32>>(),
    entry<Trial<bitgate::bf16, bitgate::bf16, 16, 16, 16, 32>>(),
    entry<Trial<float, float, 16, 16, 4, 32>>(),
#endif
};
inline constexpr int32_t fragment_count = sizeof fragments / sizeof *fragments;

} // namespace platform_probe
