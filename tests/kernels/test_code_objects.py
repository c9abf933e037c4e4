"""Launches match code objects: what a launch on the host passes is what each GPU target's kernel takes.

Device code is compiled by ziglang, one instance a family and target, in the real sources with the other instances'
registrations left out.
"""

from __future__ import annotations

import re
from ctypes import CDLL
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import prod
from pathlib import Path

import pytest

from bitgate import rooms
from bitgate.build import Builder, device_report
from bitgate.build.code_object import CodeObject, KernelCode
from bitgate.kernel.abi import CInstanceInfo, EventKind, sized_array
from bitgate.kernel.declaration import wave_sizes
from bitgate.kernel.dispatch import LaunchEvent
from bitgate.kernel.registry import families
from bitgate.problem import parse_case_id

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
pytestmark = pytest.mark.skipif(find_spec("ziglang") is None, reason="device code needs ziglang (pip install ziglang)")


@dataclass(frozen=True)
class Launches:
    """Cases of one instance that launch all of its kernels. ``functions`` are those that a launch names otherwise."""

    instance: str
    cases: tuple[str, ...]
    functions: tuple[tuple[str, str], ...] = ()


NAIVE = tuple(
    Launches(f"{way}_f16", (f"{way}_f16_nhwgc_g2n1k4c4_y3_h5_p1",), ((f"naive_{way}", f"kernel_{way}"),))
    for way in ("fwd", "bwd_data", "bwd_weight")
)
BWD_DATA = (
    "bwd_data_f16_nhwgc_n1k8c8_y1_h4",
    "bwd_data_f16_nhwgc_g2n1k8c8_y3_h6_s2_p1",
    "bwd_data_f16_nhwgc_n1k8c8_y3_h6_s2_p1_bilinear",
)
FILL = (("fill", "kernel_fill"),)
FWD = ("fwd_f16_nhwgc_g2n1k8c8_y3_h6_s2_p1_bilinear",)
FAMILIES = {
    ("naive_conv", 64): NAIVE,
    ("naive_conv", 32): NAIVE,
    ("grouped_bwd_data", 64): (Launches("f16_128x64x64_a8b8c8", BWD_DATA, FILL),),
    ("grouped_bwd_data", 32): (Launches("f16_64x64x32_a8b8c8_w32", BWD_DATA, FILL),),
    ("grouped_fwd", 64): (Launches("f16_128x64x64_a8b8c8", FWD),),
    ("grouped_fwd", 32): (Launches("f16_64x64x32_a8b8c8_w32", FWD),),
}


@pytest.fixture(scope="module")
def code_object(tmp_path_factory):
    """The code object of the unit that holds the instances, without the unit's others."""

    def build(family: str, launches: tuple[Launches, ...], target: str) -> CodeObject:
        declaration = families()[family]
        (group,) = {declaration.instance(one.instance).group for one in launches}
        source = declaration.folder / f"{group}.hip.cpp"
        kept = {one.instance for one in launches}
        registration = re.compile(r'\s*bitgate::Registration\(instance<\w+>\("(\w+)"\)\),')
        text = registration.sub(lambda found: found[0] if found[1] in kept else "", source.read_text())
        reduced = tmp_path_factory.mktemp(family) / source.name
        reduced.write_text(text)
        overlay = {str(source.relative_to(rooms.root())): reduced}
        paths = Builder("amd", arch=target).code_objects(declaration, (group,), overlay)
        units = device_report.units_of_code_objects(paths)
        return units[group].code

    return build


def static_lds(library: Path, instance: str) -> int:
    """Bytes of LDS that the host's library states for an instance."""
    infos = sized_array(CInstanceInfo, 100)
    count = CDLL(str(library)).bitgate_list_instances(infos, len(infos))
    return next(info.lds_bytes for info in infos[:count] if info.name.decode() == instance)


def agree(event: LaunchEvent, kernel: KernelCode, lds: int) -> None:
    """A launch fits the kernel that it would start."""
    assert event.args == tuple((a.offset, a.size, a.is_pointer) for a in kernel.explicit)
    assert {a.kind for a in kernel.explicit} <= {"global_buffer", "by_value"}
    assert len(event.kernargs) == kernel.explicit_bytes
    hidden = [a for a in kernel.arguments if a.is_hidden]
    assert all(a.offset >= kernel.explicit_bytes for a in hidden)
    assert kernel.kernarg_bytes == kernel.explicit_bytes or hidden
    assert event.lds_bytes + lds == kernel.lds
    assert event.wave_size in (0, kernel.wavefront)
    assert prod(event.block) == kernel.max_workgroup


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", ["naive_conv", "grouped_bwd_data", "grouped_fwd"])
def test_launches_match_code_objects(bench, integers, code_object, family, target):
    (wave,) = wave_sizes(target)
    launches = FAMILIES[family, wave]
    code = code_object(family, launches, target)
    assert code.target == target
    assert {kernel.wavefront for kernel in code.kernels} == {wave}
    started = set()
    for launch in launches:
        lds = static_lds(bench.library(family).path, launch.instance)
        for case in launch.cases:
            problem = parse_case_id(case)
            outcome = bench.run(problem, integers(problem), family, launch.instance)
            for event in outcome.record.events:
                if event.kind is not EventKind.KERNEL:
                    continue
                function = dict(launch.functions).get(event.name, event.name)
                (kernel,) = (kernel for kernel in code.kernels if kernel.function == function)
                agree(event, kernel, 0 if function == "kernel_fill" else lds)
                started.add(function)
    assert started == {kernel.function for kernel in code.kernels}, "a kernel that no case launches"


def test_a_launch_that_differs_is_seen(bench, integers, code_object):
    """One more argument, another block: the comparison itself can fail."""
    code = code_object("naive_conv", NAIVE, "gfx942")
    problem = parse_case_id(NAIVE[0].cases[0])
    (event,) = bench.run(problem, integers(problem), "naive_conv", NAIVE[0].instance).record.events
    (kernel,) = (kernel for kernel in code.kernels if kernel.function == "kernel_fwd")
    agree(event, kernel, 0)
    for wrong in (
        replace(event, args=(*event.args, (424, 4, False))),
        replace(event, block=(128, 1, 1)),
        replace(event, wave_size=32),
        replace(event, lds_bytes=4),
    ):
        with pytest.raises(AssertionError):
            agree(wrong, kernel, 0)
