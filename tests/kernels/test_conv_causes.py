"""benchmarks/conv_causes.py: small convolutions as a vendor leaves them, and the step that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.numerics.small_convolutions import UNIFORM, convolutions, inputs_of
from tests.oracle import sums, whole

import bitgate
from bitgate.core import paths
from bitgate.kernel.python_files import run_file
from bitgate.ops.convolution import ConvProblem

SCRIPT = paths.root() / "benchmarks" / "conv_causes.py"
SUBNORMAL = 2.0**-140
NORMAL = 2.0**-125


@pytest.fixture(scope="module")
def causes() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        return run_file(SCRIPT, "conv_causes")


def explained(causes: Any, folder: Path, case: str, **tensors: Any) -> list[str]:
    """Write tensors as ``bitgate verify --dump`` does, and return the cells of the case's row."""
    problem = bitgate.problem(case)
    for name, cells in tensors.items():
        role = problem.result if name in ("result", "reference") else name
        np.save(folder / f"{name}.npy", np.array(cells, np.float32).reshape(problem.tensors[role].lengths))
    found: list[str] = causes.explained(case, folder)
    return found


def test_subnormal_results_that_are_zeros(tmp_path: Path, causes: Any) -> None:
    case = "fwd_f32_nwgc_g1n1k1c1_y1_h3_s1_d1_p0_q0"
    tensors = {"in": [SUBNORMAL, NORMAL, 1], "wei": 1, "result": [0, NORMAL, 1], "reference": [SUBNORMAL, NORMAL, 1]}
    found = explained(causes, tmp_path, case, **tensors)
    assert found == ["1", "1", "results", "3 of 3", "results 1; partial sums 1; products 1; operands 1"]


def test_a_subnormal_sum_of_a_window_element_that_is_lost(tmp_path: Path, causes: Any) -> None:
    """The second cell adds two subnormal products of one window element, whose sum is no subnormal: it is kept."""
    case = "bwd_data_f32_nwgc_g1n1k2c1_y2_h3_s1_d1_p0_q0"
    half = 2.0**-127
    out, wei = [[NORMAL, half], [0, half]], [[1, SUBNORMAL / NORMAL], [1, 0]]
    reference = [NORMAL, 2 * half + SUBNORMAL, SUBNORMAL * half / NORMAL]
    result = [NORMAL, 2 * half, 0]
    found = explained(causes, tmp_path, case, out=out, wei=wei, result=result, reference=reference)
    assert found[:4] == ["2", "2", "partial sums", "3 of 3"]
    assert found[4] == "results 1; partial sums 2; products 2; operands 2"


@pytest.mark.parametrize(
    ("images", "result", "step"), [((2048, 1, 1), 2048, "rounded"), ((1, 1, 2048), 2048, "rounded, last first")]
)
def test_a_sum_that_is_rounded_after_each_image(
    tmp_path: Path, causes: Any, images: tuple[int, ...], result: int, step: str
) -> None:
    """In f16 2048 + 1 is 2048, and 1 + 1 + 2048 is 2050."""
    case = "bwd_weight_f16_nwgc_g1n3k1c1_y1_h1_s1_d1_p0_q0"
    found = explained(causes, tmp_path, case, **{"in": images, "out": [1, 1, 1], "result": result, "reference": 2050})
    assert found[:4] == ["1", "1", step, "1 of 1"]
    assert f"{step} 1" in found[4].split("; ")


def test_a_sum_that_is_added_in_f16_without_being_rounded_before(tmp_path: Path, causes: Any) -> None:
    """The second image's sum is 2049, rounded alone to 2048."""
    case = "bwd_weight_f16_nwgc_g1n2k1c1_y1_h2_s1_d1_p0_q0"
    tensors = {"in": [[2, 0], [2048, 1]], "out": [[0.5, 1], [1, 1]], "reference": 2050, "result": 2048}
    assert explained(causes, tmp_path, case, **tensors)[2] == "rounded"


def test_an_addition_in_f16_is_one_in_f32_first(causes: Any) -> None:
    """1 + 2^-11 + 2^-25 is nearer to the next number of f16 than to 1; in f32 it is 1 + 2^-11, halfway between."""
    terms = [np.array([1.0]), np.array([2.0**-11 + 2.0**-25])]
    assert np.float16(terms[0] + terms[1]) == 1 + 2.0**-10
    assert causes.added(np.float16, terms) == 1


def test_what_no_step_gives_is_not_explained(tmp_path: Path, causes: Any) -> None:
    case = "fwd_f32_nwgc_g1n1k1c1_y1_h1_s1_d1_p0_q0"
    found = explained(causes, tmp_path, case, **{"in": 1, "wei": 1, "result": 2, "reference": 1})
    assert found == ["1", "0", "not explained", "0 of 1", ""]


@given(convolutions(UNIFORM))
@settings(max_examples=40, deadline=None)
def test_partial_sums_have_the_sum_of_the_formula(causes: Any, problem: ConvProblem) -> None:
    inputs = inputs_of(problem)
    cells = {role: inputs[role].logical.astype(float) for role in problem.operands}
    assert np.array_equal(sum(causes.partial_sums(problem, cells)), sums(problem, whole(inputs)))
