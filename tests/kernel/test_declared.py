"""What a family declares holds before its predicate is asked, and its predicate before its library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.declaration import Instance, Refusal
from bitgate.kernel.declared import declared_refusal, harness_refusal, is_own, refusal_of
from bitgate.kernel.loading import loaded_names, to_load
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import F32_ACCUMULATION, parse_case_id
from bitgate.ops.convolution import ConvProblem
from bitgate.tools.fuzz.round import subjects
from bitgate.verify.selection import select_for
from bitgate.verify.session import Session

EXAMPLE = Path(__file__).parents[2] / "examples" / "pointwise"


def never_asked(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    raise AssertionError("the predicate is asked about what is not declared")


def takes_all(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    return None


INSTANCE = Instance("plain", "all", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION)
THEIRS = plain_family(Path("theirs"), instances=(INSTANCE,), supports=never_asked)


@pytest.mark.parametrize(
    ("case", "clause"),
    [
        ("bwd_data_f16_nhwgc_n1k8c8_y1x1_h4x4", "operation"),
        ("fwd_bf16_nhwgc_n1k8c8_y1x1_h4x4", "dtypes"),
        ("fwd_f16_ctf8ocp_nhwgc_n1k8c8_y1x1_h4x4", "dtypes"),
        ("fwd_f16_nwgc_n1k8c8_y1_h4", "ndims"),
        ("fwd_f16_gnhwc_n1k8c8_y1x1_h4x4", "layouts"),
        ("fwd_f16_nhwgc_n1k8c8_y1x1_h4x4_nd1_dtf32", "d_forms"),
        ("fwd_f16_nhwgc_n1k8c8_y1x1_h4x4_nd1_dlgnhwk", "d_forms"),
        ("fwd_f16_nhwgc_n1k8c8_y1x1_h4x4_nd1_dbhw", "d_forms"),
    ],
)
def test_what_is_not_declared_is_refused_and_nobody_is_asked(case: str, clause: str) -> None:
    refusal = refusal_of(THEIRS, INSTANCE, parse_case_id(case), {})
    assert refusal is not None
    assert refusal.clause == clause
    assert "theirs.plain declares" in refusal.text


def test_a_form_of_d_that_is_declared_is_asked_about() -> None:
    stated = replace(INSTANCE, d_forms=("broadcast", "f32"))
    family = plain_family(Path("theirs"), instances=(stated,), supports=takes_all)
    taken, other = (f"fwd_f16_nhwgc_n1k8c8_y1x1_h4x4_nd1_{words}" for words in ("dtf32_dbhw", "dtbf16"))
    assert refusal_of(family, stated, parse_case_id(taken), {}) is None
    refusal = refusal_of(family, stated, parse_case_id(other), {})
    assert refusal is not None
    assert refusal.text == "bf16 is not among what theirs.plain declares (broadcast, f32)"


@pytest.mark.parametrize("case", ["fwd_f16_gnhwc_n1k8c8_y1x1_h4x4", "reduction_f16_o3l17i2_sum"])
def test_no_declared_layouts_stand_for_any(case: str) -> None:
    problem = parse_case_id(case)
    plain = replace(INSTANCE, layouts=(), ndims=(problem.ndim,))
    family = plain_family(Path("theirs"), operations=("fwd", "reduction"), instances=(plain,))
    assert declared_refusal(family, plain, problem) is None


def test_a_layout_has_neighbours_inside() -> None:
    """A kernel that declares layouts takes the innermost axis for contiguous; without any it has strides to read."""
    case = "fwd_f32_nhwgc_n1k8c8_y1x1_h4x4_gapine1"
    stated = replace(INSTANCE, layouts=("nhwgc",), dtypes=("f32",))
    refusal = declared_refusal(replace(THEIRS, instances=(stated,)), stated, parse_case_id(case))
    assert refusal is not None
    assert (refusal.clause, refusal.text.split(":")[0]) == ("layouts", "elements of in lie apart")
    any_strides = replace(stated, layouts=(), ndims=(0,), operations=("reduction",))
    problem = parse_case_id("reduction_f32_o3l17i2_sum_gapxe1")
    family = plain_family(Path("theirs"), operations=("reduction",), instances=(any_strides,))
    assert declared_refusal(family, any_strides, problem) is None


def test_what_is_declared_is_the_predicates_business() -> None:
    problem = parse_case_id("fwd_f16_nhwgc_n1k8c8_y1x1_h4x4")
    assert refusal_of(replace(THEIRS, supports=takes_all), INSTANCE, problem, {}) is None
    with pytest.raises(AssertionError, match="the predicate is asked"):
        refusal_of(THEIRS, INSTANCE, problem, {})


def test_verify_plans_a_refusal_by_the_declared_set() -> None:
    selection = select_for(parse_case_id("fwd_f32_nhwgc_n1k8c8_y1x1_h4x4"), [Kernel(THEIRS, INSTANCE)])
    assert [expect.clause for _, expect in selection.refusing] == ["dtypes"]
    assert not selection.supporting


def test_bitgates_own_libraries_are_asked_about_anything() -> None:
    family = families()["nongrouped_bwd_data"]
    problem = parse_case_id("bwd_data_f16_ngchw_n1k8c8_y1x1_h4x4")
    declared = declared_refusal(family, family.instances[0], problem)
    assert declared is not None
    assert declared.clause in ("dtypes", "layouts")
    assert harness_refusal(family, family.instances[0], problem) is None
    assert is_own(family)
    assert not is_own(THEIRS)


def test_a_loaded_family_is_nobodys_reference() -> None:
    """Whatever it declares: ``--reference gpu`` and the checksums of large cases rest on bitgate's own."""
    problem = parse_case_id("fwd_f32_nhwgc_n1k8c8_y1x1_h4x4")
    session = Session("host")
    assert session.reference_kernel(problem) is not None
    session.families = {"theirs": replace(families()["naive_conv"], name="theirs")}
    assert session.reference_kernel(problem) is None


def test_fuzzing_keeps_to_the_layout_of_each_instance() -> None:
    """Two instances make a lane of two layouts; a predicate that does not look at them was given both."""
    instances = tuple(
        replace(INSTANCE, name=layout, layouts=(layout,), ndims=(0,), dtypes=("f16",)) for layout in ("rrr", "rcr")
    )
    gemm = replace(THEIRS, operations=("gemm",), instances=instances, supports=takes_all)
    (lane,) = set(subjects([(gemm, instance) for instance in instances]))
    planned = list(lane.cases(seed=0, visit=0, target="host"))
    assert {case.key.instance for case in planned} == {"rrr", "rcr"}
    assert {case.problem.layout for case in planned if case.key.instance == "rrr"} == {"rrr"}
    assert {case.problem.layout for case in planned if case.key.instance == "rcr"} == {"rcr"}


def test_declarations_come_from_command_line_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_LOAD", f"{EXAMPLE}:more.py:")
    assert to_load([Path("mine.py")]) == (Path("mine.py").absolute(), EXAMPLE, Path("more.py").absolute())
    assert to_load([EXAMPLE]) == (EXAMPLE, Path("more.py").absolute())
    monkeypatch.delenv("BITGATE_LOAD")
    assert to_load(None) == ()
    assert loaded_names([EXAMPLE]) == loaded_names([EXAMPLE / "declaration.py"]) == {"pointwise"}


def test_no_predicate_of_ours_is_asked_about_another_operation() -> None:
    ours = replace(families()["batched_gemm"], supports=never_asked)
    refusal = refusal_of(ours, ours.instances[0], parse_case_id("fwd_f16_nhwgc_n1k8c8_y1x1_h4x4"), {})
    assert refusal is not None
    assert refusal.clause == "operation"
