"""The suites that bitgate carries: what they must hold, whatever else is added to them."""

from __future__ import annotations

import csv
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.ops.convolution import ConvProblem, gemms_count, never_written_fraction
from bitgate.results.plan import Plan
from bitgate.runtime.targets import platform_of
from bitgate.suite.expand import ExpandedCase, expand
from bitgate.suite.planning import Setting
from bitgate.suite.row import CaseRow
from bitgate.suite.suites import plan_suites
from bitgate.suite.table import DEFAULT_SET, load_set, set_names

CK_SHAPES = Path(__file__).parents[1] / "coverage" / "data" / "ck_bwd_data_shapes.csv"
TABLES = sorted(paths.data_folder("suites").glob("*/cases.toml"))
BWD_DATA = paths.data_folder("suites") / "conv_bwd_data" / "cases.toml"

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
def candidates() -> dict[str, list[ExpandedCase]]:
    """All of conv_bwd_data by the row's name."""
    found: dict[str, list[ExpandedCase]] = {}
    for name in set_names(BWD_DATA):
        for row in load_set(BWD_DATA, name):
            found.setdefault(row.name, []).extend(expand(row))
    return found


@cache
def plan(tier: str, target: str = "host", platform: str = "host") -> Plan:
    """Made once for all tests: regression takes seconds."""
    setting = Setting(target, platform, registry.families(), tier="smoke" if tier == "smoke" else "")
    return plan_suites(setting, tier, ours().tables())


@pytest.fixture
def smoke() -> Plan:
    return plan("smoke")


@pytest.fixture
def regression() -> Plan:
    return plan("regression")


CK_ROWS = list(csv.DictReader(CK_SHAPES.open()))


def test_cks_shapes_are_25() -> None:
    assert len(CK_ROWS) == 25


@pytest.mark.parametrize("row", CK_ROWS, ids=[row["id"] for row in CK_ROWS])
def test_cks_shapes_are_all_here_in_all_types_and_layouts(
    candidates: dict[str, list[ExpandedCase]], row: dict[str, str]
) -> None:
    layouts = {2: {"nhwgc", "gnhwc"}, 3: {"ndhwgc", "gndhwc"}}
    problems: list[Any] = [candidate.problem for candidate in candidates[row["id"]]]
    lengths = tuple(int(row[key]) for key in ("G", "N", "K", "C"))
    fields = ("filter", "input", "stride", "dilation", "left_pad", "right_pad", "output")
    stated = tuple(tuple(map(int, row[key].split("x"))) for key in fields)
    assert {(problem.g, problem.n, problem.k, problem.c) for problem in problems} == {lengths}
    assert {tuple(getattr(problem, key) for key in fields) for problem in problems} == {stated}
    assert {gemms_count(problem) for problem in problems} == {int(row["gemms_count"])}
    assert {str(problem.dtypes) for problem in problems} == {"f32", "f16", "bf16"}
    assert {problem.layout for problem in problems} == layouts[int(row["ndim"])]


@pytest.mark.parametrize("name", HOLES)
def test_the_holes_that_cks_shapes_leave_are_closed(candidates: dict[str, list[ExpandedCase]], name: str) -> None:
    gemms, never_written = HOLES[name]
    found = candidates[name]
    problems = [cast(ConvProblem, candidate.problem) for candidate in found]
    assert {gemms_count(problem) for problem in problems} == {gemms}
    assert [never_written_fraction(problem) for problem in problems] == [pytest.approx(never_written, abs=6e-4)] * len(
        found
    )
    assert {candidate.row.tier["host"] for candidate in found} == {"smoke"}


def test_ids_are_unique_and_regression_contains_smoke(smoke: Plan, regression: Plan) -> None:
    assert len({item.id for item in regression.cases}) == len(regression.cases)
    assert {item.id for item in smoke.cases} <= {item.id for item in regression.cases}
    assert {item.id for item in regression.cases if item.tier == "smoke"} == {item.id for item in smoke.cases}


def test_smoke_is_broad_and_compares(smoke: Plan) -> None:
    assert len(smoke.cases) >= 200
    assert len({item.key.case for item in smoke.cases}) >= 60
    written = [item for item in smoke.cases if "/refused.txt:" not in item.row]
    assert sum(bool(item.refused) for item in written) / len(written) < 0.05
    assert not [item.id for item in smoke.cases if item.key.kernel == "none"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("count", [4, 9, 36])
def test_the_founding_bug_is_in_smoke_for_every_type(smoke: Plan, dtype: str, count: int) -> None:
    ids = [item.id for item in smoke.cases if item.pin.startswith("ALMIOPEN-1959") and f"_{dtype}_" in item.key.case]
    shapes = {4: "_y3x3_h8x8_s2x2_", 9: "_g1n4k128c64_y3x3_h28x28_s3x3_", 36: "_g1n2k64c64_y6x6_h28x28_s6x6_"}
    assert any(shapes[count] in name for name in ids)


def test_the_reported_shape_is_in_gpu_smoke_and_host_regression(smoke: Plan, regression: Plan) -> None:
    shape = "_g1n16k256c128_y5x5_h40x175_s2x2_"
    assert not any(shape in item.key.case for item in smoke.cases)
    on_a_gpu = plan("smoke", "gfx942", "amd").cases
    for kernel in ("grouped_bwd_data", "nongrouped_bwd_data"):
        assert sum(shape in item.key.case and item.key.kernel == kernel for item in regression.cases) == 6
        assert sum(shape in item.key.case and item.key.kernel == kernel for item in on_a_gpu) == 3


TARGETS = ("host", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "sm_90")


@pytest.mark.parametrize("target", TARGETS)
def test_smoke_touches_every_instance_of_the_target(target: str) -> None:
    platform = platform_of(target)
    used = {(item.key.kernel, item.key.instance) for item in plan("smoke", target, platform).cases if not item.refused}
    families = [family.on(target) for family in registry.families().values() if platform in family.platforms]
    every = {(family.name, instance.name) for family in families for instance in family.instances}
    assert len(every) > 200
    assert every - used == set()


def is_meant(row: CaseRow, family: KernelFamily, instance: Instance) -> bool:
    """By the globs of the row; without any, every kernel is that is not a reference."""
    names = (family.name, f"{family.name}.{instance.name}")
    globs = row.kernels or ("*",) * (not family.is_reference)
    return any(fnmatchcase(name, glob) for glob in globs for name in names)


STATING = [row for name in set_names(BWD_DATA) for row in load_set(BWD_DATA, name) if row.dispatch]


@pytest.mark.parametrize("row", STATING, ids=[f"{row.origin.set_name}: {row.name}" for row in STATING])
def test_what_is_predicted_is_what_the_table_says(row: CaseRow) -> None:
    """A hand-written dispatch row against the families' own predictions, without running anything."""
    predictions = []
    for candidate, family in product(expand(row), registry.families().values()):
        options = {**{o.name: o.production for o in family.options}, **dict(candidate.options)}
        for instance in family.instances:
            if is_meant(row, family, instance) and family.supports(candidate.problem, instance, options) is None:
                predicted = family.dispatch(candidate.problem, instance, options)
                assert predicted
                predictions.append(predicted.stated)
    assert predictions
    known = row.dispatch.keys() & predictions[0].keys()  # a run also asserts what is not predicted
    stated = {name: row.dispatch[name] for name in known}
    assert stated
    assert [prediction for prediction in predictions if {name: prediction[name] for name in known} != stated] == []


@pytest.mark.parametrize(("suite", "name"), [(p.parent.name, n) for p in TABLES for n in set_names(p)])
def test_what_a_test_holds_is_stated_by_each_row(suite: str, name: str) -> None:
    """An interface row states its clause, a dispatch row its dispatch: without it the test would hold nothing."""
    rows = load_set(paths.data_folder("suites") / suite / "cases.toml", name)
    assert rows
    if name == "interface":
        assert [row.name for row in rows if not row.refused] == []
    if name in ("dispatch", "split_n", "main_loop"):
        assert [row.name for row in rows if not row.dispatch] == []


def test_each_set_is_some_modules() -> None:
    """A plan has the cases of all sets: those of one that no test asks for would be lost in every night."""
    for table in TABLES:
        modules = "".join(path.read_text() for path in table.parent.glob("test_*.py"))
        for name in set_names(table):
            asked = table.parent.name if name == DEFAULT_SET else f"{table.parent.name}#{name}"
            assert f'"{asked}"' in modules, f"no test of {table.parent.name} asks for {asked}"
