"""Padding of one tensor after one axis: what the words of a case id mean in memory, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.strategies import problems
from tests.problems import convolution

from bitgate.model import ProblemError, case_id, foreign_line, human, parse_case_id
from bitgate.model.gap import Gap, apart, settled, strides_of
from bitgate.model.space.factor import Constants, classify
from bitgate.model.space.quantity_columns import nearby, smaller
from bitgate.ops.convolution.space.neighbours import nearby as nearby_convolutions
from bitgate.ops.convolution.space.neighbours import smaller as smaller_convolutions

CONV = "fwd_f16_nhwgc_g2n2k16c16_y3x3_h5x7_s1x1_d1x1_p1x1_q1x1"
GEMM = "gemm_f16_rcr_b2m64n48k32"


def laid_down(order: str, lengths: Mapping[str, int], behind: Mapping[str, int]) -> Iterator[tuple[int, ...] | None]:
    """The memory of a tensor, cell by cell: of each axis its entries, one after the other, and then its gap."""
    if not order:
        yield ()
        return
    for at in range(lengths[order[0]]):
        for inner in laid_down(order[1:], lengths, behind):
            yield None if inner is None else (at, *inner)
    yield from [None] * behind.get(order[0], 0)


@given(st.data(), st.permutations("nhwc").map("".join))
def test_strides_are_those_of_row_by_row_memory(data: st.DataObject, order: str) -> None:
    lengths = {axis: data.draw(st.integers(1, 4)) for axis in order}
    behind = {axis: data.draw(st.integers(0, 3)) for axis in order[1:]}
    strides = strides_of(order, lengths, behind)
    memory = list(laid_down(order, lengths, behind))
    for cell in product(*(range(lengths[axis]) for axis in order)):
        assert memory[sum(at * strides[axis] for at, axis in zip(cell, order, strict=True))] == cell


def test_eight_elements_behind_each_line() -> None:
    """Lines of 7 positions of 2 groups of 16 channels: h and n grow, what lies inside a line does not."""
    tensors = parse_case_id(f"{CONV}_gapinw8").tensors
    assert tensors["in"].strides == (16, 5 * (7 * 32 + 8), 1, 7 * 32 + 8, 32)  # g n c h w
    assert {role: tensors[role] for role in ("wei", "out")} == {
        role: tensor for role, tensor in parse_case_id(CONV).tensors.items() if role != "in"
    }
    assert tensors["in"].space == parse_case_id(CONV).tensors["in"].elements + (2 * 5 - 1) * 8


@pytest.mark.parametrize(
    ("case", "role", "strides"),
    [
        pytest.param(f"{CONV}_gapinh8", "in", (16, 5 * 7 * 32 + 8, 1, 7 * 32, 32), id="behind each image"),
        pytest.param(f"{CONV}_gapinc8", "in", (24, 5 * 7 * 48, 1, 7 * 48, 48), id="behind the channels of a group"),
        pytest.param(f"{CONV}_gap_gaping8", "in", (16, 5 * 7 * 48, 1, 7 * 48, 48), id="added to the gap of all"),
        pytest.param(f"{CONV}_gapweiy4", "wei", (16 * 148, 9 * 16 + 4, 1, 48, 16), id="behind each filter"),
        pytest.param(f"{CONV}_nd1_gapouth8", "d0", (16, 5 * 7 * 32, 1, 7 * 32, 32), id="D has its own"),
        pytest.param(f"{CONV}_inplace_gapouth8", "d0", (16, 5 * 7 * 32 + 8, 1, 7 * 32, 32), id="D in the result"),
        pytest.param(f"{CONV}_bias_gapd0k8", "d0", (24, 0, 1, 0, 0), id="a bias"),
        pytest.param(f"{GEMM}_gapbk8", "wei", (48 * 40, 40, 1), id="the leading dimension of B"),
        pytest.param(f"{GEMM.replace('rcr', 'crr')}_gapak8", "in", (32 * 64 + 8, 1, 64), id="behind each matrix A"),
        pytest.param(f"{GEMM}_bias_gapdn8", "d0", (56, 0, 1), id="a bias a matrix"),
        pytest.param("reduction_f16_o4l10i3_argmax_gapindexi8", "index", (11, 1), id="a reduction's index"),
        pytest.param("reduction_f16_o4l10i1_sum_gapxl8", "x", (18, 1, 1), id="a reduction's rows"),
        pytest.param(f"{CONV}_gapine1", "in", (32, 5 * 7 * 64, 2, 7 * 64, 64), id="after each element"),
        pytest.param(f"{CONV}_gap_gapine2", "in", (48, 5 * 7 * 104, 3, 7 * 104, 104), id="and after each pixel"),
        pytest.param(f"{CONV}_bias_gapd0k8_gapd0e1", "d0", (40, 0, 2, 0, 0), id="the values of a bias"),
        pytest.param(f"{CONV}_inplace_gapoute1", "d0", (32, 5 * 7 * 64, 2, 7 * 64, 64), id="D as the result's"),
        pytest.param(f"{GEMM.replace('rcr', 'crr')}_gapae1", "in", (64 * 64, 2, 128), id="m of a turned A"),
        pytest.param("layernorm_f16_r3c5_affine_gapbetae2", "beta", (3,), id="a vector"),
        pytest.param("attention_f16_b2h2kv1s3t4d8_full_padded_gaplengthse1", "lengths", (2,), id="lengths"),
        pytest.param("attention_f16_b2h2kv1s3t4d8_full_gapod4_gapoe1", "o", (120, 60, 20, 2), id="and after rows"),
    ],
)
def test_the_axes_outside_a_gap_grow(case: str, role: str, strides: tuple[int, ...]) -> None:
    assert parse_case_id(case).tensors[role].strides == strides


@given(problems())
def test_an_id_comes_back_as_the_same_problem(problem) -> None:
    assert parse_case_id(case_id(problem)) == problem


def test_gaps_have_one_order() -> None:
    """Tensors as kernels get them, the outermost axis first."""
    problem = parse_case_id(f"{CONV}_sk2_gapouth8_gapinw016_gapinh8")
    assert case_id(problem) == f"{CONV}_gapinh8_gapinw16_gapouth8_sk2"
    assert problem == parse_case_id(f"{CONV}_gapinw16_gapinh8_gapouth8_sk2")
    assert human(problem).endswith("3x3 5x7 p1 gap in h+8 gap in w+16 gap out h+8 split-K 2")


def test_ck_profiler_has_no_gaps() -> None:
    assert foreign_line(parse_case_id(CONV))
    assert foreign_line(parse_case_id(f"{CONV}_gapinw8")) is None


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (f"{CONV}_gapinw0", "gapinw0: 0 elements are outside 1..2147483647"),
        (f"{CONV}_gapinw2147483648", "gapinw2147483648: 2147483648 elements are outside 1..2147483647"),
        (f"{CONV}_gapxw8", "gapxw8: no tensor 'x' has gaps of its own: in, wei, out may"),
        (f"{CONV}_gapd0w8", "gapd0w8: no tensor 'd0' has gaps of its own: in, wei, out may"),
        (f"{CONV}_inplace_gapd0w8", "gapd0w8: no tensor 'd0' has gaps of its own: in, wei, out may"),
        (f"{CONV}_gapink8", "gapink8: tensor in has no axis 'k': n h w g c are its axes"),
        (f"{CONV}_gapinn8", "gapinn8: n is the outermost axis of in (nhwgc): nothing follows its row"),
        (f"{CONV}_gapinw8_gapinw16", "gapinw16: a second gap after w of in: give their sum"),
        (f"{CONV}_gapinw", "'gapinw' is not a part of a case id"),
        (f"{CONV}_gapw8", "'gapw8' is not a part of a case id"),
        (f"{CONV}_gap8", "'gap8' is not a part of a case id"),
        (f"{CONV}_gapin8", "gapin8: no tensor 'i' has gaps of its own: in, wei, out may"),
        (f"{GEMM}_gapink8", "gapink8: no tensor 'in' has gaps of its own: a, b, c may"),
        ("reduction_f16_o4l10i3_max_gapyl8", "gapyl8: tensor y has no axis 'l': o i are its axes"),
        (f"{CONV}_gapine0", "gapine0: 0 elements are outside 1..2147483647"),
        (f"{CONV}_gapine1_gapine2", "gapine2: a second gap after e of in: give their sum"),
        (f"{CONV}_nd1_dbgnkhw_gapd0e1", "gapd0e1: tensor d0 has no axis 'e':  are its axes"),
    ],
)
def test_what_no_tensor_can_have_is_refused_with_the_reason(case: str, said: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(said)):
        parse_case_id(case)


def test_gaps_after_elements_are_the_last_of_a_tensor() -> None:
    problem = parse_case_id(f"{CONV}_gapoute1_gapine1_gapinc8")
    assert case_id(problem) == f"{CONV}_gapinc8_gapine1_gapoute1"
    assert apart(problem) == ("in", "out")
    assert apart(parse_case_id(f"{CONV}_gap")) == ()


def test_an_axis_of_that_name_is_no_element() -> None:
    """An id with such an axis keeps its meaning."""
    lengths = {"r": 2, "e": 3}
    assert strides_of("re", lengths, {"e": 1}) == {"r": 4, "e": 1}
    assert strides_of("er", lengths, {"r": 1}) == {"e": 3, "r": 1}
    with pytest.raises(ProblemError, match="e is the outermost axis of x"):
        settled((Gap("x", "e", 1),), {"x": "er"})


def test_a_stride_of_two_is_shrunk_and_kept_with_an_axis_less() -> None:
    every = {case_id(problem) for problem in smaller_convolutions(convolution(f"{CONV}_gapine1"))}
    assert CONV in every
    assert any(name.startswith("fwd_f16_nwgc_") and name.endswith("_gapine1") for name in every)
    norm = parse_case_id("layernorm_f16_r3c5_affine_gapbetae2")
    assert "layernorm_f16_r3c5_affine" in {case_id(p) for p in smaller(norm.operation.space, norm)}


def test_a_gap_is_one_of_the_things_that_shrinking_takes_away() -> None:
    every = {case_id(problem) for problem in smaller_convolutions(convolution(f"{CONV}_gapinw8_gapouth8"))}
    assert {f"{CONV}_gapinw8", f"{CONV}_gapouth8", CONV} <= every
    assert f"{CONV.replace('g2', 'g1')}_gapinw8_gapouth8" in every
    gemm = parse_case_id(f"{GEMM}_gapbk8")
    assert {GEMM, f"{GEMM.replace('b2', 'b1')}_gapbk8"} <= {case_id(p) for p in smaller(gemm.operation.space, gemm)}
    assert ("gaps", "gapbk8", "none") in {
        (one.quantity, one.old, one.new) for one in nearby(gemm.operation.space, gemm)
    }


@given(problems())
def test_padding_is_kept_by_any_change_that_leaves_it_a_place(problem) -> None:
    """Without an axis the one that takes its name takes its gap; without a D tensor there is none after its rows."""
    changed = [*smaller_convolutions(problem), *(one.problem for one in nearby_convolutions(problem))]
    for other in changed:
        assert settled(other.gaps, other.gap_orders) == other.gaps
        assert len(other.gaps) <= len(problem.gaps)


@pytest.mark.parametrize(("case", "gap"), [(CONV, "inw8"), (GEMM, "bk8"), ("reduction_f32_o2l3i1_sum", "xl8")])
def test_for_coverage_and_ledgers_it_is_a_gap_like_any(case: str, gap: str) -> None:
    packed, strided, single = (parse_case_id(case + end) for end in ("", "_gap", f"_gap{gap}"))
    space = single.operation.space
    (factor,) = (factor for factor in space.factors if factor.name == "gap")
    codes = classify(space.batch([packed, strided, single]), [factor], Constants())[:, 0]
    assert codes[0] != codes[1] == codes[2]
    assert [space.properties["gap"].of(problem) for problem in (packed, strided, single)] == [False, True, True]


def test_without_an_axis_its_neighbour_takes_its_name() -> None:
    found = [p.gaps for p in smaller_convolutions(convolution(f"{CONV}_gapinh8_gapweix4")) if p.ndim == 1]
    assert found == [(Gap("wei", "x", 4),), (Gap("in", "w", 8),)]
