"""Launches match code objects: what a launch on the host passes is what each GPU target's kernel takes.

Device code is compiled by ziglang, one translation unit a family and target with all of its instances. Making a capsule
is the comparison: it holds every launch against the code object's metadata, and replays them from the capsule's data.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from msgspec import structs

from bitgate.core import paths
from bitgate.kernel.declaration import Instance, KernelFamily, wave_sizes
from bitgate.kernel.registry import families
from bitgate.model import parse_case_id
from bitgate.results.targets_file import read_targets
from bitgate.tools.capsule.device_code import DeviceCode
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import CapsuleDefect
from bitgate.tools.capsule.matching import LaunchMismatch, check
from bitgate.tools.capsule.writing import CapsuleRequest, make
from bitgate.verify.session import Session

TARGETS = read_targets(paths.data_folder("ci") / "targets.toml").of("amd")
CASES = (
    "{}_{}_{}_n1k16c16_y1_h4",
    "{}_{}_{}_n1k128c128_y1_h4",
    "{}_{}_{}_n1k16c16_y1_h5_s2",
    "{}_{}_{}_g2n1k16c16_y2_h6_s2",
    "{}_{}_{}_g2n1k16c16_y3_h6_s2_p1",
    "{}_{}_{}_g2n1k128c128_y3_h6_s2_p1",
    "{}_{}_{}_n1k16c16_y3_h6_s2_p1_bilinear",
    "{}_{}_{}_n2k16c16_y1_h14",
    "{}_{}_{}_n2k16c16_y1_h14_sk4",
    "{}_{}_{}_g2n1k16c16_y1_h4_gap_sk2",
    "{}_{}_{}_g8n1k1c1_y3_h6_p1",
    "{}_{}_{}_n1k16c16_y3_h6_s2_p1_gap",
    "{}_{}_ngchw_gkcyx_n1k16c16_y3_h6_s2_p1",
    "{}_{}_ngchw_gkcyx_n1k16c16_y1_h6",
)
GEMM_CASES = (
    "{}_{}_{}_b2m48n48k48",
    "{}_{}_{}_b1m16n16k16_bilinear",
    "{}_{}_{}_b1m16n16k256",
    "{}_{}_{}_b1m16n16k64_gap_sk2",
)
REDUCTION_CASES = tuple(
    f"{{}}_{{}}{{}}_{shape}_{kind}{split}"
    for shape in ("o5l300i1", "o3l70i33")
    for kind in ("sum", "max", "argmax")
    for split in ("", "_sk3")
)
SOFTMAX_CASES = ("{}_{}{}_r5c300_full", "{}_{}{}_r5c70_padded_gap")
NORM_CASES = ("{}_{}{}_r5c300_affine_stats", "{}_{}{}_r5c70_gap")
ATTENTION_CASES = ("{}_{}{}_b1h2kv1s5t40d40_causal_lse", "{}_{}{}_b1h2kv1s5t300d200w20_window_padded_gap")
"""Of an operation, a type and a layout. Short and long reductions: together they launch every kernel of every family,
those for K loops of one step too."""
NEVER_LAUNCHED = re.compile(r"11kernel_flatI.*6StagedI.*MainLoopE2|16kernel_transposeI[hj]")
"""A flat launch has one sub-GEMM: its K loop runs one step or more, not the one here and the other there (mixed).
Copies of tensors stand in the library's unit, for elements of 1, 2 and 4 bytes; the unit looked at has 2."""
NO_COPY_OF_DW = {"bwd_weight_explicit"}
"""With one tap, weights of any layout have their channels last: this family never copies its result out."""


@pytest.fixture(scope="module")
def session():
    session = Session("host")
    yield session
    assert session.opened.device.host is not None
    session.opened.device.host.reset()


CASES_OF = {
    "gemm": GEMM_CASES,
    "reduction": REDUCTION_CASES,
    "attention": ATTENTION_CASES,
    "attention_bwd": ("{}_{}{}_b1h2kv1s5t40d40_causal", "{}_{}{}_b1h2kv1s5t40d40_full_padded_saved"),
    "softmax": SOFTMAX_CASES,
    "layernorm": NORM_CASES,
    "rmsnorm": NORM_CASES,
}


def types(instance: Instance, operation: str) -> str:
    """As a case id says them: a reduction's by that of x."""
    return instance.dtypes[0].partition("_")[0] if operation == "reduction" else instance.dtypes[0]


def group_of(family: KernelFamily, target: str) -> list[Instance]:
    """The instances of one translation unit: the one for f16 if there is one."""
    here = family.on(target).instances
    chosen = next((instance for instance in here if instance.dtypes[0] == "f16"), here[0])
    return [instance for instance in here if instance.group == chosen.group]


def orders(family: KernelFamily, instance: Instance, target: str) -> list[CapsuleRequest]:
    layout = "nhwgc" if "nhwgc" in instance.layouts else "".join(instance.layouts[:1])
    problems = [
        parse_case_id(case.format(operation, types(instance, operation), layout))
        for operation in family.operations_of(instance)
        for case in CASES_OF.get(operation, CASES)
    ]
    kernel = f"{family.name}.{instance.name}"
    ways: list[tuple[tuple[str, str], ...]] = [()]
    if family.option("sums"):
        ways = [(("sums", sums),) for sums in ("cell", "tile", "small_tile")]
    supported = [problem for problem in problems if family.supports(problem, instance, {}) is None]
    return [CapsuleRequest(problem, target, kernel, way) for problem in supported for way in ways]


FAMILIES = [name for name, family in families().items() if not family.is_probe]
PAIRS = [
    # By day a target a family, in turn; in the nightly all.
    pytest.param(name, target, marks=() if (number - place) % len(TARGETS) == 0 else pytest.mark.nightly)
    for number, name in enumerate(FAMILIES)
    for place, target in enumerate(TARGETS)
]


@pytest.mark.parametrize(("name", "target"), PAIRS)
def test_launches_match_code_objects(session, name, target):
    family = families()[name]
    group = group_of(family, target)
    code = DeviceCode(family, group[0], target)
    started, wrong = set(), {}
    for order in (order for instance in group for order in orders(family, instance, target)):
        try:
            made = make(order, session, code).manifest
        except CapsuleDefect as defect:
            wrong[order] = str(defect)
            continue
        started |= {step.symbol for step in made.kernels}
        if made.host_run != "PASS":
            wrong[order] = made.host_run
    assert wrong == {}
    kernels = [kernel for unit in code.own for kernel in unit.code.kernels]
    assert {unit.code.target for unit in code.own} == {target}
    assert {kernel.wavefront for kernel in kernels} == set(wave_sizes(target))
    idle = {kernel.symbol for kernel in kernels} - started
    if name in NO_COPY_OF_DW:
        idle = {symbol for symbol in idle if "16kernel_transposeItLb0" not in symbol}
    assert {symbol for symbol in idle if not NEVER_LAUNCHED.search(symbol)} == set(), "no case launches them"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"args": ()}, "0 arguments are passed, 5 are taken"),
        ({"args": "last"}, "argument 4 is a value of 4 bytes at 424 on the host, a value of"),
        ({"kernargs": b"1234"}, "4 bytes of arguments, not"),
        ({"block": (128, 1, 1)}, "blocks of 128 threads, compiled for 256"),
        ({"wave_size": 32}, "waves of 32 lanes on the host, 64 in the code object"),
        ({"lds_bytes": 1 << 16 | 1}, "65537 bytes of LDS, gfx942 has 65536 a block"),
        ({"static_lds": 4}, "4 bytes of static LDS on the host, 8 in the code object"),
    ],
)
def test_a_launch_that_differs_is_reported(bench, integers, changes, words):
    family = families()["naive_conv"]
    instance = group_of(family, "gfx942")[0]
    problem = orders(family, instance, "gfx942")[0].problem
    (event,) = bench.run(problem, integers(problem), family, instance.name).record.events
    symbols = LibrarySymbols(bench.library(family).path)
    _, kernel = DeviceCode(family, instance, "gfx942").kernel(symbols.names(event.function))
    check(event, kernel, "gfx942", 0)
    static_lds = changes.get("static_lds", 0)
    changed = {name: value for name, value in changes.items() if name != "static_lds"}
    if changed.get("args") == "last":
        changed["args"] = (*event.args[:-1], (424, 4, False))
    with pytest.raises(LaunchMismatch, match=words):
        # 0 would be LDS that the device's compiler has left out
        check(structs.replace(event, **changed), replace(kernel, lds=2 * static_lds), "gfx942", static_lds)


def test_a_kernel_that_no_unit_has_is_a_defect():
    family = families()["naive_conv"]
    instance = group_of(family, "gfx942")[0]
    code = DeviceCode(replace(family, sources=(f"{instance.group}.hip.cpp",)), instance, "gfx942")
    with pytest.raises(CapsuleDefect, match="naive_conv: no code object for gfx942 holds _Z7nothing"):
        code.kernel(("_Z7nothing",))
