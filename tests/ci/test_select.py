"""Which cases a changed file selects, of bitgate's own smoke tier."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.project import ours
from bitgate.lab.ci.select import select, selectors
from bitgate.lab.ci.select_changes import FileChange, tracked
from bitgate.lab.ci.select_rules import ProjectFacts
from bitgate.lab.planning.project_facts import facts_of
from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.run_plan import RunPlan

ROOT = ours().root
WITNESSES = tuple(
    f"suites/{name}.py"
    for name in (
        "attention/test_laws",
        "large/test_large",
        "metamorphic/test_laws",
        "norm/test_laws",
        "softmax/test_laws",
    )
)
"""Their tests name another judge or reference, so that a kernel takes part which is not the case's own."""


def planned(folder: Path, target: str) -> Plan:
    """Plan it in a separate process: pytest collects."""
    out = folder / f"{target}.json"
    command = [sys.executable, "-m", "bitgate", "ci", "plan", "--tier=smoke", f"--target={target}", f"--out={out}"]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    (plan,) = RunPlan.read(out).shards
    return plan


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return planned(tmp_path_factory.mktemp("plan"), "host")


@pytest.fixture(scope="module")
def facts(plan: Plan) -> ProjectFacts:
    return facts_of(ours(), plan)


def family(*names: str) -> Callable[[PlannedItem], bool]:
    return lambda item: item.key.kernel in names or item.test.startswith(WITNESSES)


def operation(*names: str) -> Callable[[PlannedItem], bool]:
    return lambda item: item.key.case.startswith(names) or item.test.startswith(WITNESSES)


def everything(item: PlannedItem) -> bool:
    return True


def nothing(item: PlannedItem) -> bool:
    return False


CHANGED: dict[str, Callable[[PlannedItem], bool]] = {
    # kernels, by what their translation units include
    "kernels/include/bitgate/abi.h": everything,  # the native references rest on it, too
    "kernels/grouped_fwd/gemm.hpp": family("grouped_fwd"),
    "kernels/include/bitgate/implicit_gemm/bwd_data/fill.hpp": family("grouped_bwd_data", "nongrouped_bwd_data"),
    "kernels/platform_probe/library.hip.cpp": family("platform_probe"),
    "kernels/device_tools/sums.hip.cpp": lambda item: item.test.startswith(WITNESSES),
    "kernels/platforms/host/runtime/stream.cpp": everything,
    "kernels/platforms/nvidia/runtime/runtime.cpp": nothing,
    "kernels/platforms/hip_api.txt": everything,
    # declarations, and what they share
    "kernels/grouped_fwd/declaration.py": family("grouped_fwd"),
    "kernels/backward_data.py": family("grouped_bwd_data", "nongrouped_bwd_data"),
    # Python, by who imports it
    "harness/bitgate/verify/pipeline.py": everything,
    "harness/bitgate/numerics/native/convert.hpp": everything,
    "harness/bitgate/ops/reduction/reference.py": operation("reduction"),
    # no law of another operation rests on it
    "harness/bitgate/ops/rows/norm.py": lambda item: item.test.startswith(("suites/norm/", "suites/softmax/")),
    # a GEMM's declaration shares clauses with those of convolutions
    "harness/bitgate/ops/convolution/form.py": operation("fwd", "bwd_data", "bwd_weight", "gemm"),
    "harness/bitgate/results/report/junit.py": nothing,
    "harness/bitgate/cli/verify.py": nothing,
    "harness/bitgate/tools/fuzz/campaign.py": nothing,
    "harness/bitgate/not_there.py": everything,
    # suites
    "suites/gemm/cases.toml": lambda item: item.suite == "gemm",
    "suites/reduction/argmax.toml": lambda item: item.row.startswith("suites/reduction/argmax.toml:"),
    "suites/gemm/solved.txt": lambda item: item.row.startswith("suites/gemm/solved.txt:"),
    "suites/gemm/test_interface.py": lambda item: item.test.startswith("suites/gemm/test_interface.py"),
    "suites/faults/fwd.toml": nothing,
    "suites/sweeps/resnet50.toml": nothing,
    "suites/platform/renamed.json": everything,
    # and all else
    "docs/ci.md": nothing,
    "kernels/README.md": nothing,
    "LICENSE": nothing,
    "tests/ci/test_select.py": nothing,
    "reports/templates/summary.md.j2": nothing,
    "pyproject.toml": everything,
    "ci/targets.toml": everything,
    ".github/workflows/smoke.yml": everything,
    "what/is.this": everything,
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_file_selects_what_it_can_change(plan: Plan, facts: ProjectFacts, name: str) -> None:
    selected = {item.id for item in select(plan, facts, [FileChange(ROOT / name)]).items}
    assert selected == {item.id for item in plan.cases if CHANGED[name](item)}


def test_an_instance_group_is_its_units_alone(plan: Plan, facts: ProjectFacts) -> None:
    """The probes of fragments are in a separate translation unit."""
    selected = select(plan, facts, [FileChange(ROOT / "kernels/platform_probe/fragments.hip.cpp")]).items
    probes = {item.key.instance for item in selected if item.key.kernel == "platform_probe"}
    assert probes == {"lanes", "accumulators", "subnormals"}


def test_a_row_selects_its_cases(plan: Plan, facts: ProjectFacts) -> None:
    table = ROOT / "suites" / "gemm" / "cases.toml"
    edited = table.read_text().replace('shape = "b2m20n16k48"', 'shape = "b2m20n16k47"')
    assert edited != table.read_text()
    (row,) = {item.row for item in plan.cases if item.key.case.endswith("_b2m20n16k48_sk2") and item.suite == "gemm"}
    selection = select(plan, facts, [FileChange(table, edited.encode())])
    assert {item.row for item in selection.items} == {row}


def test_a_line_of_a_solved_list_selects_its_case(plan: Plan, facts: ProjectFacts) -> None:
    path = ROOT / "suites" / "gemm" / "solved.txt"
    lines = path.read_text().splitlines(keepends=True)
    item = next(item for item in plan.cases if item.row.startswith("suites/gemm/solved.txt:"))
    number = int(item.row.rpartition(":")[2])
    said, _, why = lines[number - 1].partition("  # ")
    words = "".join([*lines[: number - 1], f"{said}  # other words than {why}", *lines[number:]])
    without = "".join([*lines[: number - 1], *lines[number:]])
    assert not select(plan, facts, [FileChange(path, words.encode())]).items
    assert [one.row for one in select(plan, facts, [FileChange(path, without.encode())]).items] == [item.row]


def test_a_stored_digest_selects_its_problem_in_every_suite(plan: Plan, facts: ProjectFacts) -> None:
    stored = ROOT / "suites" / "gemm" / "digests.json"
    ordinary = (item.key.case for item in plan.cases if item.suite == "gemm" and item.key.fill == "exact")
    case = next(name for name in ordinary if f'"{name} seed=0' in stored.read_text())
    then = stored.read_bytes().replace(f'"{case} seed=0'.encode(), f'"{case} seed=1'.encode())
    assert {item.key.case for item in select(plan, facts, [FileChange(stored, then)]).items} == {case}


def test_a_header_that_is_gone_counts_where_it_would_be_found(plan: Plan) -> None:
    """Another one of that name, further away, may be what is included now."""
    gone = ROOT / "kernels" / "grouped_fwd" / "bitgate" / "launch.hpp"
    selected = select(plan, facts_of(ours(), plan, [gone]), [FileChange(gone)]).items
    assert {item.id for item in selected} == {item.id for item in plan.cases if family("grouped_fwd")(item)}


def test_an_unused_header_selects_nothing_once_it_is_gone(plan: Plan) -> None:
    gone = ROOT / "kernels" / "include" / "bitgate" / "retired.hpp"
    facts = facts_of(ours(), plan, [gone])
    assert not select(plan, facts, [FileChange(gone, b"#pragma once")]).items
    assert select(plan, facts, [FileChange(gone)]).items == plan.cases, "of a name alone nobody knows that it ever was"


def test_on_a_gpu_a_naive_kernel_judges_the_others(tmp_path: Path) -> None:
    plan = planned(tmp_path, "gfx942")
    facts = facts_of(ours(), plan)
    naive = select(plan, facts, [FileChange(ROOT / "kernels/naive_conv/naive_conv.hpp")]).items
    judged = operation("fwd", "bwd_data", "bwd_weight")
    assert {item.id for item in naive} == {item.id for item in plan.cases if judged(item)}
    tools = select(plan, facts, [FileChange(ROOT / "kernels/device_tools/sums.hip.cpp")])
    assert tools.items == plan.cases
    assert not select(plan, facts, [FileChange(ROOT / "kernels/platforms/host/runtime/stream.cpp")]).items


def test_who_would_select_a_case(plan: Plan, facts: ProjectFacts) -> None:
    item = next(item for item in plan.cases if item.suite == "gemm" and item.key.kernel == "batched_gemm")
    reasons = selectors(item, facts, tracked(ROOT))
    names = {one.change.path.relative_to(ROOT).as_posix() for one in reasons}
    assert {"kernels/batched_gemm/dispatch.hpp", "suites/gemm/cases.toml", "tox.ini"} <= names
    assert not {"kernels/grouped_fwd/gemm.hpp", "suites/reduction/cases.toml", "README.md"} & names
    for one in reasons:
        assert item in select(plan, facts, [one.change]).items


FILES = st.sampled_from([*map(ROOT.joinpath, CHANGED)])


@given(st.sets(FILES), st.sets(FILES))
def test_more_changed_files_select_no_fewer_cases(
    plan: Plan, facts: ProjectFacts, some: set[Path], more: set[Path]
) -> None:
    """And what two changes select is what each of them selects."""
    first, second, both = (
        {item.id for item in select(plan, facts, map(FileChange, files)).items} for files in (some, more, some | more)
    )
    assert both == first | second


def test_all_files_together_select_the_plan(plan: Plan, facts: ProjectFacts) -> None:
    assert select(plan, facts, map(FileChange, tracked(ROOT))).items == plan.cases
    assert select(plan, facts, []).items == ()
