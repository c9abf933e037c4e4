"""The translation units that a declaration states instead of keeping files."""

from __future__ import annotations

from pathlib import Path

from bitgate.core.project import ours
from bitgate.kernel.generated import Registered, element, units
from bitgate.kernel.registry import families

UNIT = """\
#include "instances.hpp"
namespace mine {
static const Passes<float> instances_0("f32");
#if BITGATE_HAS_WAVE(32)
static const Narrow<bitgate::f16> instances_1("f16", "f32");
#endif
}
"""


def test_a_unit_registers_the_instances_of_a_group() -> None:
    held = [
        Registered(f"Passes<{element('f32')}>", ("f32",)),
        Registered(f"Narrow<{element('f16')}>", ("f16", "f32"), wave=32),
    ]
    assert units("mine", {"mine_all": held}) == {"mine_all.hip.cpp": UNIT}


DECLARATION = """
from pathlib import Path
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.generated import Registered, units
from bitgate.model import F32_ACCUMULATION

GENERATED = units("theirs", {"theirs_f16": [Registered("Passes", ("f16",))]})
FAMILY = KernelFamily(
    name="theirs", operations=("fwd",), folder=Path(__file__).parent, platforms=("host",),
    sources=("library.hip.cpp", *GENERATED), generated=GENERATED,
    instances=(
        Instance("one", "theirs_f16", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION, traits={"way": "wave", "merge": 8}),
    ),
)
"""


def test_an_owner_states_units_and_traits_too(tmp_path: Path) -> None:
    """Their declaration runs in a separate process; both come back whole."""
    path = tmp_path / "declaration.py"
    path.write_text(DECLARATION)
    theirs = families(ours().loading([path]))["theirs"]
    assert "static const Passes instances_0" in theirs.generated["theirs_f16.hip.cpp"]
    assert theirs.instances[0].traits == {"way": "wave", "merge": 8}
