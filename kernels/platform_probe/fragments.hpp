// The fragments that this build can try, by wave size. A fragment that a kernel uses and that is missing here
// is found by tests/verify/test_platform_probes.py.
#pragma once

#include "tiles.hpp"

namespace platform_probe {

using bitgate::bf16;
using bitgate::bf8fnuz;
using bitgate::bf8ocp;
using bitgate::f16;
using bitgate::f8fnuz;
using bitgate::f8ocp;

// 8-bit types are multiplied on every target: by its own instructions, or in steps of others.
#define BITGATE_PROBE_8_BIT(k, wave)                                                                         \
  entry<FragmentTest<int8_t, int8_t, 16, 16, k, wave>>(),                                                    \
      entry<FragmentTest<f8ocp, f8ocp, 16, 16, k, wave>>(),                                                  \
      entry<FragmentTest<f8ocp, bf8ocp, 16, 16, k, wave>>(),                                                 \
      entry<FragmentTest<bf8ocp, f8ocp, 16, 16, k, wave>>(),                                                 \
      entry<FragmentTest<bf8ocp, bf8ocp, 16, 16, k, wave>>(),                                                \
      entry<FragmentTest<f8fnuz, f8fnuz, 16, 16, k, wave>>(),                                                \
      entry<FragmentTest<f8fnuz, bf8fnuz, 16, 16, k, wave>>(),                                               \
      entry<FragmentTest<bf8fnuz, f8fnuz, 16, 16, k, wave>>(),                                               \
      entry<FragmentTest<bf8fnuz, bf8fnuz, 16, 16, k, wave>>()

inline const Entry fragments[] = {
#if BITGATE_HAS_WAVE(64)
    entry<FragmentTest<f16, f16, 32, 32, 8, 64>>(),
    entry<FragmentTest<f16, f16, 16, 16, 16, 64>>(),
    entry<FragmentTest<bf16, bf16, 32, 32, 8, 64>>(),
    entry<FragmentTest<bf16, bf16, 16, 16, 16, 64>>(),
    entry<FragmentTest<float, float, 16, 16, 4, 64>>(),
    BITGATE_PROBE_8_BIT(32, 64),
#endif
#if BITGATE_HAS_WAVE(32)
    entry<FragmentTest<f16, f16, 16, 16, 16, 32>>(),
    entry<FragmentTest<bf16, bf16, 16, 16, 16, 32>>(),
    entry<FragmentTest<float, float, 16, 16, 4, 32>>(),
    BITGATE_PROBE_8_BIT(16, 32),
    BITGATE_PROBE_8_BIT(32, 32),
#endif
};
#undef BITGATE_PROBE_8_BIT
inline constexpr int32_t fragment_count = sizeof fragments / sizeof *fragments;

} // namespace platform_probe
