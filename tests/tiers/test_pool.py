"""The pool of a family: what its instances take, what they refuse beside it, and the classes of both."""

from __future__ import annotations

from functools import lru_cache

import pytest

from bitgate.core.project import ours
from bitgate.kernel import registry
from bitgate.model import parse_case_id
from bitgate.model.gap import apart
from bitgate.model.space.details import Cut, slice_steps, slices, tail, turns
from bitgate.tools.tiers.cost import CostModel
from bitgate.tools.tiers.pool import CandidatePool, PoolCase


@lru_cache(maxsize=4)
def drawn(family: str, operation: str) -> tuple[PoolCase, ...]:
    kernel_family = registry.families(ours())[family].on("host")
    return tuple(CandidatePool(kernel_family, operation, CostModel(), 0.1).cases(300, 1))


@pytest.mark.parametrize(("family", "operation"), [("batched_gemm", "gemm"), ("reduction", "reduction")])
def test_each_case_is_taken_or_refused_as_it_says(family, operation):
    for case in drawn(family, operation):
        refusal = case.kernel.refusal(case.problem)
        assert (refusal.clause if refusal else "") == case.refused


def test_the_same_seed_gives_the_same_pool():
    drawn.cache_clear()
    first = [case.key for case in drawn("batched_gemm", "gemm")]
    drawn.cache_clear()
    assert [case.key for case in drawn("batched_gemm", "gemm")] == first


def test_data_options_and_gaps_of_single_tensors_are_drawn():
    cases = drawn("reduction", "reduction")
    assert {"exact", "late", "negative"} <= {case.fill for case in cases}
    assert {"", "1", "2"} <= {case.classes["most_blocks"] for case in cases}
    assert {"none", "all", "x", "y"} <= {case.classes["gaps"] for case in cases}


@pytest.mark.parametrize(
    ("family", "operation", "tensors"),
    [("reduction", "reduction", {"x", "y", "index"}), ("batched_gemm", "gemm", set("abcd"))],
)
def test_elements_of_each_tensor_lie_apart_once_a_path(family, operation, tensors):
    cases = [case for case in drawn(family, operation) if apart(case.problem)]
    assert {tensor for case in cases for tensor in apart(case.problem)} == tensors
    assert len(cases) <= 6 * len(tensors)  # three paths, of one launch or two
    for case in cases:
        (name,) = apart(case.problem)
        strides = [tensor.strides for tensor in case.problem.tensors.values()]
        assert sum(1 not in one for one in strides) == 1
        assert case.classes[f"gap_{name}"] == "e"
        assert case.refused == ("layout" if operation == "gemm" and name != "d" else "")


def test_axes_of_three_dimensions_are_factors_of_their_own():
    problem = parse_case_id("fwd_f32_ndhwgc_g2n3k129c8_y3x1x2_h9x8x7_s1x2x3_d2x1x1_p1x0x2")
    found = problem.operation.space.details(problem, Cut((64, 64, 16), (4, 4, 1)))
    assert [found[f"stride_{axis}"] for axis in "dhw"] == ["1", "2", "3"]
    assert [found[f"dilation_{axis}"] for axis in "dhw"] == ["2", "one tap", "1"]
    assert [found[f"left_{axis}"] for axis in "dhw"] == ["1", "0", ">= window"]
    assert (found["k"], found["k_mod"], found["columns_tail"], found["columns_tiles"]) == ("129-256", "1n", "1", "3")
    assert found["unequal"] == "several"


@pytest.mark.parametrize(
    ("length", "tile", "name"), [(64, 32, "0"), (65, 32, "1"), (36, 32, "4"), (63, 32, "-1"), (45, 32, "odd")]
)
def test_a_tail_is_named_by_what_the_last_tile_holds(length, tile, name):
    assert tail(length, tile) == name


@pytest.mark.parametrize(
    ("split", "steps", "name"),
    [
        (1, 5, "one"),
        (-1, 1, "auto of one"),
        (-1, 5, "auto of few"),
        (-1, 8, "auto"),
        (7, 5, "empty"),
        (4, 5, "empty"),
        (2, 5, "uneven"),
        (5, 5, "even"),
    ],
)
def test_slices_are_classed_by_how_they_share_steps(split, steps, name):
    assert slices(split, steps) == name


def test_a_refusal_names_the_only_quantity_that_violates_a_clause():
    cases = [case for case in drawn("batched_gemm", "gemm") if case.violates]
    assert {"k", "n", "m", "layout"} & {case.violates for case in cases}
    for case in cases:
        assert case.refused
        assert case.classes["violates"] == case.violates


def test_blocks_that_take_turns_are_classed_by_how_many():
    cases = drawn("reduction", "reduction")
    assert {"2", "3", ">3", ">3 ragged"} <= {case.classes.get("turns", "") for case in cases}
    assert all(case.classes["most_blocks"] for case in cases if "turns" in case.classes)
    assert [turns(*one) for one in ((2, 4), (2, 5), (3, 30), (1, 2))] == ["2", "3 ragged", ">3", "2"]


def test_an_automatic_split_is_on_each_side_of_its_limits():
    cases = drawn("bwd_weight_explicit", "bwd_weight")
    automatic = [case for case in cases if case.classes.get("auto")]
    assert {case.classes["auto_limit"] != "none" for case in automatic} == {True, False}
    assert all(getattr(case.problem, "split_k", 1) == -1 for case in automatic)


def test_kernels_without_tiles_meet_long_rows():
    assert {"257-1024", ">1024"} <= {case.classes["length"] for case in drawn("naive_reduction", "reduction")}


def test_steps_of_slices_are_counted_as_far_as_pipelines_are_deep():
    assert slice_steps(1, 4) == {"slice_steps": "4", "last_slice": "whole"}
    assert slice_steps(3, 10) == {"slice_steps": "4", "last_slice": "several"}
    assert slice_steps(2, 25) == {"slice_steps": "odd", "last_slice": "several"}
    assert slice_steps(4, 13)["last_slice"] == "one"


def test_each_limit_has_the_last_case_that_is_taken_and_the_first_refused():
    cases = [case for case in drawn("batched_gemm", "gemm") if case.classes["limit"] == "index_range of batch"]
    assert [(getattr(case.problem, "batch", 0), case.refused) for case in cases] == [
        (65535, ""),
        (65536, "index_range"),
    ]
