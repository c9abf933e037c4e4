"""The suites that bitgate carries: what they must hold, whatever else is added to them."""

from __future__ import annotations

import csv
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from bitgate import rooms
from bitgate.cases.expand import Candidate, expand
from bitgate.cases.plan import Plan
from bitgate.cases.planning import Setting
from bitgate.cases.suites import plan_suites
from bitgate.cases.table import load_set, set_names
from bitgate.kernel import registry
from bitgate.problem import case_id, gemms_count, never_written_fraction

CK_SHAPES = Path(__file__).parents[1] / "coverage" / "data" / "ck_bwd_data_shapes.csv"
BWD_DATA = rooms.room("suites") / "conv_bwd_data" / "cases.toml"

# id: sub-GEMMs and the share of dx that is never written, computed by brute force outside this repository.
HOLES = {
    "R1": (1, 0.750),
    "R2": (31, 0.031),
    "R3": (32, 0.000),
    "R4": (33, 0.000),
    "R5": (64, 0.000),
    "R6": (65, 0.000),
    "R7": (4, 0.779),
    "R8": (9, 0.824),
    "R9": (4, 0.353),
    "R10": (1, 0.000),
    "R11": (1, 0.691),
    "R12": (1, 0.000),
    "R13": (9, 0.840),
    "R14": (1, 0.750),
    "R15": (4, 0.360),
    "R16": (4, 0.000),
}


@pytest.fixture(scope="module")
def candidates() -> dict[str, list[Candidate]]:
    """All of conv_bwd_data by the row's name."""
    found: dict[str, list[Candidate]] = {}
    for name in set_names(BWD_DATA):
        for row in load_set(BWD_DATA, name):
            found.setdefault(row.name, []).extend(expand(row))
    return found


def plan(tier: str, target: str = "host", platform: str = "host") -> Plan:
    setting = Setting(target, platform, registry.families(), tier="smoke" if tier == "smoke" else "")
    return plan_suites(setting, tier)


@pytest.fixture(scope="module")
def smoke() -> Plan:
    return plan("smoke")


@pytest.fixture(scope="module")
def regression() -> Plan:
    return plan("regression")


def test_cks_shapes_are_all_here_in_all_types_and_layouts(candidates: dict[str, list[Candidate]]) -> None:
    rows = list(csv.DictReader(CK_SHAPES.open()))
    assert len(rows) == 25
    layouts = {2: {"nhwgc", "gnhwc"}, 3: {"ndhwgc", "gndhwc"}}
    for row in rows:
        name, ndim = row["id"], int(row["ndim"])
        problems = [candidate.problem for candidate in candidates[name]]
        lengths = [int(row[key]) for key in ("G", "N", "K", "C")]
        fields = ("filter", "input", "stride", "dilation", "left_pad", "right_pad", "output")
        stated = [tuple(map(int, row[key].split("x"))) for key in fields]
        for problem in problems:
            assert [problem.g, problem.n, problem.k, problem.c] == lengths
            assert [getattr(problem, key) for key in fields] == stated
            assert gemms_count(problem) == int(row["gemms_count"])
        assert {str(problem.dtypes) for problem in problems} == {"f32", "f16", "bf16"}
        assert {problem.layout for problem in problems} == layouts[ndim]


@pytest.mark.parametrize("name", HOLES)
def test_the_holes_that_cks_shapes_leave_are_closed(candidates: dict[str, list[Candidate]], name: str) -> None:
    gemms, never_written = HOLES[name]
    for candidate in candidates[name]:
        assert gemms_count(candidate.problem) == gemms
        assert never_written_fraction(candidate.problem) == pytest.approx(never_written, abs=6e-4)
        assert candidate.row.tier["host"] == "smoke"


def test_ids_are_unique_and_regression_contains_smoke(smoke: Plan, regression: Plan) -> None:
    assert len({item.id for item in regression.cases}) == len(regression.cases)
    assert {item.id for item in smoke.cases} <= {item.id for item in regression.cases}
    assert {item.id for item in regression.cases if item.tier == "smoke"} == {item.id for item in smoke.cases}


def test_smoke_is_broad_and_compares(smoke: Plan) -> None:
    assert len(smoke.cases) >= 200
    assert len({item.case for item in smoke.cases}) >= 60
    refused = sum(bool(item.refused) for item in smoke.cases)
    assert refused / len(smoke.cases) < 0.05
    assert not [item.id for item in smoke.cases if item.kernel == "none"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("count", [4, 9, 36])
def test_the_founding_bug_is_in_smoke_for_every_type(smoke: Plan, dtype: str, count: int) -> None:
    ids = [item.id for item in smoke.cases if item.pin.startswith("ALMIOPEN-1959") and f"_{dtype}_" in item.case]
    shapes = {4: "_y3x3_h8x8_s2x2_", 9: "_g1n4k128c64_y3x3_h28x28_s3x3_", 36: "_g1n2k64c64_y6x6_h28x28_s6x6_"}
    assert any(shapes[count] in name for name in ids)


def test_the_reported_shape_runs_in_smoke_on_a_gpu_and_in_regression_on_the_host(smoke: Plan, regression: Plan) -> None:
    shape = "_g1n16k256c128_y5x5_h40x175_s2x2_"
    assert not any(shape in item.case for item in smoke.cases)
    assert sum(shape in item.case for item in regression.cases) == 6
    assert sum(shape in item.case for item in plan("smoke", "gfx942", "amd").cases) == 3


def test_every_instance_gets_its_turn_in_smoke(smoke: Plan) -> None:
    used = Counter((item.kernel, item.instance) for item in smoke.cases if not item.refused)
    families = registry.families()
    for name in ("grouped_bwd_data", "naive_conv"):
        assert not [i.name for i in families[name].instances if not used[name, i.name]]


def test_what_is_predicted_is_what_the_table_says(candidates: dict[str, list[Candidate]]) -> None:
    """The hand-written dispatch rows against the families' own predictions, without running anything."""
    families = registry.families()
    checked = 0
    for name in candidates:
        for candidate in candidates[name]:
            family = families["grouped_bwd_data"]
            options = {**{o.name: o.production for o in family.options}, **dict(candidate.options)}
            for instance in family.instances:
                stated = candidate.row.dispatch
                meant = any(fnmatchcase(f"{family.name}.{instance.name}", glob + "*") for glob in candidate.row.kernels)
                if stated and meant and family.supports(candidate.problem, instance, options) is None:
                    predicted = vars(family.dispatch(candidate.problem, instance, options))
                    stated = {key: value for key, value in stated.items() if key in predicted}
                    known = stated.keys() & predicted.keys()  # a run also asserts what nobody predicts, as split_k
                    assert {k: predicted[k] for k in known} == {k: stated[k] for k in known}, case_id(candidate.problem)
                    checked += 1
    assert checked > 100
