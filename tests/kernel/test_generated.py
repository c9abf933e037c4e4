"""The translation units that a declaration states instead of keeping files."""

from __future__ import annotations

from bitgate.kernel.generated import Registered, element, units

UNIT = """\
#include "instances.hpp"
namespace mine {
static const Passes<float> instances_0("f32");
#if BITGATE_HAS_WAVE(32)
static const Narrow<bitgate::f16> instances_1("f16", "f32");
#endif
}
"""


def test_a_unit_registers_the_instances_of_a_group():
    held = [
        Registered(f"Passes<{element('f32')}>", ("f32",)),
        Registered(f"Narrow<{element('f16')}>", ("f16", "f32"), wave=32),
    ]
    assert units("mine", {"mine_all": held}) == {"mine_all.hip.cpp": UNIT}
