"""The search for wrong products, on kernels that are the operation's own form with a planted mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from bitgate.model import Problem, parse_case_id
from bitgate.verify.diagnose.products import search

FWD = "fwd_f32_nhwgc_g2n3k8c6_y3x2_h9x7_s2x1_p1x1"
WEIGHT = "bwd_weight_bf16_nhwgc_g1n2k4c4_y2x2_h8x8_s2x1_d1x2_p0x0"
GEMM = "gemm_f16_b2m20n24k70"
SUM = "reduction_f32_o4l30i2_sum"

Arrays = Mapping[str, np.ndarray]
Kernel = Callable[[Arrays], np.ndarray]


def found(case: str, kernel: Callable[[Problem, Kernel], Kernel], at: tuple[int, ...]) -> str:
    problem = parse_case_id(case)
    form = problem.operation.numerics.form(problem)
    assert form is not None
    run = kernel(problem, lambda arrays: form.apply(arrays).astype(np.float64))
    asked, answers = search(problem, at), None
    while True:
        try:
            data = next(asked) if answers is None else asked.send(answers)
        except StopIteration as end:
            return str(end.value)
        answers = [run(one) for one in data]


def right(problem: Problem, form: Kernel) -> Kernel:
    return form


def moved(role: str, by: int, axis: int) -> Callable[[Problem, Kernel], Kernel]:
    return lambda problem, form: lambda arrays: form({**arrays, role: np.roll(arrays[role], by, axis)})


def without(role: str, part: Any) -> Callable[[Problem, Kernel], Kernel]:
    def lose(array: np.ndarray) -> np.ndarray:
        less = np.array(array)
        less[part] = 0
        return less

    return lambda problem, form: lambda arrays: form({**arrays, role: lose(arrays[role])})


@pytest.mark.parametrize(
    ("case", "at"), [(FWD, (1, 1, 4, 2, 4)), (WEIGHT, (0, 2, 2, 1, 1)), (GEMM, (1, 10, 12)), (SUM, (1, 1))]
)
def test_nothing_is_said_of_a_right_cell(case: str, at: tuple[int, ...]) -> None:
    assert found(case, right, at) == ""


@pytest.mark.parametrize(
    ("case", "at", "mistake", "words"),
    [
        (
            FWD,
            (1, 1, 4, 2, 4),
            moved("in", 1, 4),
            "y(1,1,4,2,4) holds w(1,4,0,0,0) * x(1,1,0,3,2) instead of x(1,1,0,3,3) (w - 1);"
            " all 36 of its products are wrong",
        ),
        (
            FWD,
            (1, 1, 4, 2, 4),
            moved("in", 1, 0),
            "instead of x(1,1,0,3,3) (g - 1); all 36 of its products are wrong",
        ),
        (
            WEIGHT,
            (0, 2, 2, 1, 1),
            without("out", (slice(None), 1, slice(None), 2)),
            "dw(0,2,2,1,1) lacks dy(0,1,2,2,0) * x(0,1,2,5,2); 6 of its products are wrong: those with dy at n 1, h 2",
        ),
        (GEMM, (1, 10, 12), moved("in", 1, 1), "holds B(1,12,0) * A(1,9,0) instead of A(1,10,0) (m - 1)"),
        (
            GEMM,
            (1, 10, 12),
            without("in", (..., slice(64, None))),
            "lacks A(1,10,64) * B(1,12,64); 6 of its products are wrong: those with A at k 64 to 69",
        ),
        (SUM, (1, 1), lambda problem, form: lambda arrays: 3 * form(arrays), "y(1,1) holds x(1,0,1) 3 times"),
    ],
)
def test_of_a_mistake(case: str, at: tuple[int, ...], mistake, words: str) -> None:
    text = found(case, mistake, at)
    assert text.startswith("with all other elements 0, ")
    assert words in text


def test_of_a_number_that_comes_from_no_product() -> None:
    text = found(FWD, lambda problem, form: lambda arrays: form(arrays) + 5, (1, 1, 4, 2, 4))
    assert text == "with all operands 0, y(1,1,4,2,4) holds 5, not 0"


def with_d(problem: Problem, form: Kernel, d: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    lengths = problem.tensors["d0"].lengths

    def run(arrays: Arrays) -> np.ndarray:
        own = np.broadcast_to(arrays.get("d0", np.zeros(lengths)), lengths)
        return form({role: array for role, array in arrays.items() if role != "d0"}) + d(own)

    return run


@pytest.mark.parametrize(
    ("gap", "d", "words"),
    [
        ("", lambda d: np.roll(d, 1, 2), "y(1,1,4,2,4) takes D(1,1,3,2,4) instead of D(1,1,4,2,4)"),
        ("", lambda d: d, ""),
    ],
)
def test_of_an_element_of_d(gap: str, d, words: str) -> None:
    text = found(f"{FWD}_nd1{gap}", lambda problem, form: with_d(problem, form, d), (1, 1, 4, 2, 4))
    assert text == (f"with all operands 0, {words}" if words else "")


@pytest.mark.parametrize(("factor", "alpha"), [("a0p5", 0.5), ("am3", -3.0), ("a1p2", 1.2)])
def test_an_element_of_d_is_found_whatever_alpha_is(factor: str, alpha: float) -> None:
    """Sums are divided by alpha, which may be less than 1."""
    wrong = lambda problem, form: with_d(problem, form, lambda d: np.roll(d, 1, 2) * 3 / alpha)  # noqa: E731
    text = found(f"{FWD}_bilinear_{factor}_b3", wrong, (1, 1, 4, 2, 4))
    assert text == "with all operands 0, y(1,1,4,2,4) takes D(1,1,3,2,4) instead of D(1,1,4,2,4)"


def test_no_product_reaches_a_result_whose_alpha_is_0() -> None:
    assert found(f"{FWD}_bilinear_a0_b3", moved("in", 1, 4), (1, 1, 4, 2, 4)) == ""


def test_large_results_are_left_alone() -> None:
    assert found("gemm_f32_b1m2048n2048k512", right, (0, 1, 1)) == ""
