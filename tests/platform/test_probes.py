"""Probes of the platform: green on the host, and for each thing that hardware may do otherwise one sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import kernel_called
from bitgate.model import DTYPES, DtypeSet, ProblemError, case_id, human, parse_case_id
from bitgate.results.record import Outcome
from bitgate.runtime.probe import PROBES, Deviation, Fragment, Workbench, sentence_of
from bitgate.runtime.probe.arithmetic import accumulators, subnormals
from bitgate.runtime.probe.lanes import lanes
from bitgate.suite.planning import Setting, plan_rows
from bitgate.suite.table import load_set
from bitgate.verify.pipeline import verify
from bitgate.verify.planned import PlannedCase
from bitgate.verify.session import Session

PROBLEM = parse_case_id("probe_platform")
SQUARE = Fragment(0, "MFMA 16x16x16 f16", DTYPES["f16"], DTYPES["f16"], DTYPES["f32"], 16, 16, 16, 64, 2**24)
WIDE = replace(SQUARE, name="MFMA 32x32x8 f16", m=32, n=32, k=8)
FLOAT8 = replace(SQUARE, name="MFMA 16x16x32 f8fnuz", a=DTYPES["f8fnuz"], b=DTYPES["f8fnuz"], k=32)


@pytest.fixture(scope="module")
def session() -> Session:
    return Session("host")


@dataclass
class Hardware:
    """A device that exists on paper: ``multiply`` gives the sums of one step's tiles, ``add`` two steps' sum."""

    fragment: Fragment = SQUARE
    multiply: Any = np.matmul
    add: Any = np.add
    target: str = "gfx942"
    found: dict = field(default_factory=dict)

    def fragments(self):
        return (self.fragment,)

    def sums(self, fragment, a, b, repeats=None):
        a, b = a.astype(fragment.a.numpy), b.astype(fragment.b.numpy)
        if self.multiply is np.matmul:
            a, b = a.astype(np.float64), b.astype(np.float64)
        total = 0.0
        for step in range(a.shape[1]):
            times = 1 if repeats is None else repeats[:, step, None, None]
            total = self.add(total, times * self.multiply(a[:, step], b[:, step]))
        return np.asarray(total, np.float32)


def hardware(*stated: Any, **more: Any) -> Any:
    """Hardware that takes a workbench's place."""
    return Hardware(*stated, **more)


def wide(tile):
    return tile.astype(np.float64)


@pytest.mark.parametrize("instance", PROBES)
def test_the_host_is_as_declared(session, instance):
    verdict = verify(
        PlannedCase(PROBLEM, kernel_called(session.families, "platform_probe", instance), fill="probe"), session
    )
    assert verdict.outcome is Outcome.PASS, verdict.reason
    assert verdict.human == f"{instance} of host"
    assert verdict.fingerprint["build"]


def test_every_fragment_of_a_kernel_is_probed(session):
    bench = Workbench(session.opened.device, session.opened.library("platform_probe"))
    probed = {((f.a.name, f.b.name), (f.m, f.n, f.k), f.wave) for f in bench.fragments()}
    used = {}
    for family in families(target="host").values():
        for instance in family.instances if family.platforms else ():
            for spelling in instance.dtypes if instance.fragment else ():
                words = spelling.split("_")
                # Of more than three tensors the first one's type is multiplied.
                types = DtypeSet.parse(spelling if len(words) <= 3 or "ct" in spelling else words[0])
                # An operand with its own type is named; dy stands before x and w.
                roles = [role for role, _ in reversed(types.own)] or ["in", "wei"]
                pair = tuple(types.multiplicand(role).name for role in roles)
                used[f"{family.name}.{instance.name}"] = (pair, instance.fragment, instance.wave_size)
    assert len(used) > 100
    assert {name: one for name, one in used.items() if one not in probed} == {}, "kernels/platform_probe/fragments.hpp"


def test_every_probe_is_declared_and_judged():
    assert set(PROBES) == {instance.name for instance in families()["platform_probe"].instances}


def test_the_case_id_says_what_is_probed():
    assert (case_id(PROBLEM), human(PROBLEM)) == ("probe_platform", "probe of the platform")
    assert PROBLEM.tensors == {}
    for wrong in ("probe_sound", "probe_platform_f16", "probe_"):
        with pytest.raises(ProblemError, match="is nothing to probe: known is platform"):
            parse_case_id(wrong)


def test_a_probe_is_no_place_for_another_problem(session):
    kernel = kernel_called(session.families, "platform_probe", "lanes")
    planned = PlannedCase(parse_case_id("fwd_f32_nwgc_g1n1k1c1_y1_h1"), kernel, fill="probe")
    verdict = verify(planned, session)
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.reason == "operation: platform_probe.lanes does not compute fwd"


RENAMED = paths.data_folder("suites") / "platform" / "renamed.json"


def test_every_probe_of_the_old_plan_is_one_of_the_new_plan():
    """Records from before probes had an operation know them as cases of a convolution of one cell."""
    renamed = json.loads(RENAMED.read_text())
    old = "fwd_f32_nwgc_g1n1k1c1_y1_h1_s1_d1_p0_q0__platform_probe_{}__probe"
    assert list(renamed) == [old.format(probe) for probe in PROBES]
    rows = load_set(paths.data_folder("suites") / "platform" / "cases.toml")
    planned = plan_rows(rows, Setting("host", "host", families(None, "host", here=True)), suite="platform")
    assert list(renamed.values()) == [test.id for test in planned]
    assert all(test.fill == "probe" and test.tier == "smoke" for test in planned)


def rows_swapped(a, b):
    return (wide(a) @ wide(b))[:, [1, 0, *range(2, a.shape[1])]]


def columns_swapped(a, b):
    return wide(a) @ wide(b)[:, :, [*range(8, b.shape[2]), *range(8)]]


def k_in_another_order(a, b):
    return wide(a) @ wide(b)[:, [*range(4, b.shape[1]), *range(4)]]


def a_product_lost(a, b):
    sums = wide(a) @ wide(b)
    return sums - (wide(a)[:, :, -1:] * wide(b)[:, -1:]) * ((a != 0).sum(axis=(1, 2), keepdims=True) == a[0].size)


@pytest.mark.parametrize(
    ("fragment", "multiply", "said"),
    [
        (SQUARE, lambda a, b: wide(a) @ wide(b).transpose(0, 2, 1), "B's lane map is transposed"),
        (SQUARE, lambda a, b: wide(a).transpose(0, 2, 1) @ wide(b), "A's lane map is transposed"),
        (WIDE, lambda a, b: (wide(a) @ wide(b)).transpose(0, 2, 1), "C's lane map is transposed"),
        (WIDE, rows_swapped, "row 1 of A came out at C(0, 0): the rows of A and C disagree at k = 0; 64 of 1024"),
        (WIDE, columns_swapped, "column 8 of B came out at C(0, 0)"),
        (WIDE, k_in_another_order, "k = 0 of A meets k = 4 of B in C(0, 0): A and B order k differently"),
        (SQUARE, lambda a, b: np.nan * (wide(a) @ wide(b)), "C element (0, 0) is written by no lane"),
        (SQUARE, lambda a, b: 2 * (wide(a) @ wide(b)), "every product is counted twice"),
        (
            FLOAT8,
            lambda a, b: wide(a.view(DTYPES["f8ocp"].numpy)) @ wide(b.view(DTYPES["f8ocp"].numpy)),
            "the bytes of f8fnuz are read as f8ocp",
        ),
    ],
)
def test_a_wrong_lane_map_is_named(fragment, multiply, said):
    (finding,) = lanes(hardware(fragment, multiply))
    assert finding.subject == fragment.name
    assert said in finding.text


def test_right_lanes_are_green():
    assert not list(lanes(hardware(SQUARE)))
    assert not list(lanes(hardware(WIDE)))
    assert not list(lanes(hardware(FLOAT8)))


def in_bits(bits):
    """Sums that keep only that number of significant bits."""

    def add(total, sums):
        mantissa, exponent = np.frexp(np.asarray(total + sums, np.float64))
        return np.ldexp(np.trunc(np.ldexp(mantissa, bits)), exponent - bits)

    return add


def test_an_accumulator_of_14_bits_is_measured():
    (finding,) = accumulators(hardware(FLOAT8, add=in_bits(14)))
    said = "sums are exact up to 16384 only, it declares 16777216: 2^14 + 1 = 16385, in one multiplication"
    assert said in finding.text


def test_an_accumulator_as_declared_is_green():
    device = hardware(SQUARE, add=in_bits(25))
    assert not list(accumulators(device))
    assert device.found["exact_range"] == {SQUARE.name: 2**24}


def test_operands_of_fewer_bits_are_reported():
    def xf32(a, b):
        mantissa, exponent = np.frexp(wide(a))
        return np.ldexp(np.trunc(np.ldexp(mantissa, 11)), exponent - 11) @ wide(b)

    single = replace(SQUARE, name="MFMA 16x16x4 f32", a=DTYPES["f32"], b=DTYPES["f32"], k=4)
    first, *_ = accumulators(hardware(single, xf32))
    assert first.text == "elements of A are multiplied with fewer bits than f32 has: 16777215 became 16769024"


def flushed(a, b):
    return np.where(np.abs(wide(a)) < 2.0**-14, 0, wide(a)) @ np.where(np.abs(wide(b)) < 2.0**-14, 0, wide(b))


@pytest.mark.parametrize(
    ("target", "multiply", "said"),
    [
        ("gfx942", np.matmul, []),
        ("gfx90a", flushed, []),
        ("gfx1100", np.matmul, []),
        ("gfx1100", flushed, []),
        ("gfx942", flushed, ["A are flushed to zero, on gfx942 they are to be kept"] * 2),
        ("gfx90a", np.matmul, ["A are kept, on gfx90a they are to be flushed to zero"] * 2),
        ("gfx1201", lambda a, b: 3 * (wide(a) @ wide(b)), ["taken for others"] * 2),
    ],
)
def test_subnormals_are_to_be_as_the_target_is_known(target, multiply, said):
    found = list(subnormals(hardware(SQUARE, multiply, target=target)))
    assert len(found) == len(said)
    for finding, operand, words in zip(found, "AB", said, strict=False):
        assert words.replace("A are", f"{operand} are") in finding.text


def test_what_is_true_of_several_fragments_is_reported_once():
    findings = [Deviation("transposed", "one"), Deviation("no LDS"), Deviation("transposed", "two")]
    assert sentence_of(findings) == "one and 1 more: transposed; no LDS"


@pytest.mark.parametrize(
    ("multiply", "said"),
    [(np.matmul, []), (lambda a, b: flush8(a) @ flush8(b), ["flushed to zero, on gfx90a they are to be kept"] * 2)],
)
def test_8_bit_floats_keep_subnormals_through_bf16_on_gfx90a(multiply, said):
    """The smallest is 2^-9 (f8ocp): a subnormal of that type, a normal number of bf16."""
    found = list(subnormals(hardware(FLOAT8, multiply, target="gfx90a")))
    assert len(found) == len(said)
    assert all(words in finding.text for finding, words in zip(found, said, strict=True))


def flush8(a):
    return np.where(np.abs(wide(a)) < 2.0**-6, 0, wide(a))
