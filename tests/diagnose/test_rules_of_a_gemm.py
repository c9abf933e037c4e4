"""What a GEMM's wrong cells have in common is said in a GEMM's words."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.model import parse_case_id
from bitgate.ops.gemm import GemmProblem
from bitgate.results.record import Diagnosis
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.poison import poison_bits


class Product:
    """A case with its right answer, and a copy of it to injure."""

    def __init__(self, case: str) -> None:
        problem = parse_case_id(case)
        assert isinstance(problem, GemmProblem)
        self.problem = problem
        generator = np.random.default_rng(0)
        self.inputs = {
            name: generator.integers(-3, 4, problem.tensors[name].lengths).astype(problem.tensors[name].dtype.numpy)
            for name in ("in", "wei")
        }
        self.right = self.multiply(**self.inputs)
        self.result = self.right.copy()

    def multiply(self, **inputs: np.ndarray) -> np.ndarray:
        a, b = ({**self.inputs, **inputs}[name].astype(np.float64) for name in ("in", "wei"))
        return np.einsum("bmk,bnk->bmn", a, b).astype(self.problem.tensors["out"].dtype.numpy)

    def diagnosis(self, **more: object) -> Diagnosis:
        poison = poison_bits(self.problem.tensors["out"].dtype)
        scene = Scene.thinned(self.problem, self.result, self.right, poison=poison, inputs=self.inputs, **more)
        return diagnose(scene)


def test_the_end_of_k_is_missing() -> None:
    p = Product("gemm_f16_rcr_b2m9n16k20")
    short = p.inputs["in"].copy()
    short[..., 16:] = 0
    p.result = p.multiply(**{"in": short})
    diagnosis = p.diagnosis()
    assert diagnosis.kinds[0] == "k_tail"
    assert diagnosis.sentence.startswith("the last 4 of 20 terms of K are missing from the sums of the wrong cells")


def test_batch_items_hold_each_others_results() -> None:
    p = Product("gemm_f32_rcr_b2m9n16k20")
    p.result = p.right[::-1].copy()
    diagnosis = p.diagnosis()
    assert diagnosis.kinds == ("wrong_group",)
    assert "batch item 0 holds the result of batch item 1" in diagnosis.sentence


def test_the_last_columns_and_the_last_rows() -> None:
    p = Product("gemm_f32_rcr_b1m37n35k20")
    p.result[..., 32:] = 0
    assert "only in the last 3 channels of N = 35 (N mod 32 = 3)" in p.diagnosis().sentence
    p.result = p.right.copy()
    p.result[:, 32:] += 5
    told = p.diagnosis(tile=(32, 32, 16)).sentence
    assert "only in the last, partial tile of the GEMM's rows (5 of 32 rows, M = 37)" in told


@pytest.mark.parametrize("distance", [1, -1])
def test_columns_are_shifted(distance: int) -> None:
    p = Product("gemm_f32_rcr_b1m9n16k20")
    p.result = np.roll(p.right, distance, axis=2)
    diagnosis = p.diagnosis()
    assert diagnosis.kinds[0] == "shifted"
    assert "shifted by 1 along n" in diagnosis.sentence


def test_a_one_of_a_that_reached_another_row() -> None:
    p = Product("gemm_f32_rcr_b1m3n4k5")
    p.inputs["in"][...] = 0
    for m in range(3):
        p.inputs["in"][0, m, m] = 1
    p.inputs["wei"][...] = np.arange(1, 21).reshape(1, 4, 5)
    p.right = p.multiply(**p.inputs)
    p.result = p.right.copy()
    p.result[0, 1, 2] = p.inputs["wei"][0, 3, 4]
    told = p.diagnosis().sentence
    assert told.startswith("A(0,1,1) reached C(0,1,2) through B(0,3,4)")
    assert "instead of B(0,2,1)" in told
    assert "tap" not in told
