"""Real references for the diagnosis tests: integer data and a plain convolution."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle import sums
from tests.problems import convolution

from bitgate.ops.convolution import ConvProblem
from bitgate.verify.diagnose import Scene
from bitgate.verify.poison import poison_bits


def convolve(problem: ConvProblem, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The result tensor, summed in f64 and rounded once."""
    return sums(problem, inputs).astype(problem.tensors[problem.result].dtype.numpy)


def make(case: str, seed: int = 0) -> tuple[ConvProblem, dict[str, np.ndarray], np.ndarray]:
    problem = convolution(case)
    generator = np.random.default_rng(seed)
    inputs = {
        name: generator.integers(-3, 4, problem.tensors[name].lengths).astype(problem.tensors[name].dtype.numpy)
        for name in problem.operands
    }
    return problem, inputs, convolve(problem, {name: array.astype(np.float64) for name, array in inputs.items()})


class Patient:
    """A case with its right answer, and a copy of it to injure."""

    def __init__(self, case: str) -> None:
        self.problem, self.inputs, self.reference = make(case)
        self.result = self.reference.copy()
        self.poison_bits = poison_bits(self.problem.tensors[self.problem.result].dtype)

    @property
    def poison(self) -> np.ndarray:
        """One poisoned cell."""
        return np.array(self.poison_bits, f"u{self.reference.dtype.itemsize}").view(self.reference.dtype)

    def convolve(self, problem: ConvProblem | None = None, **inputs: np.ndarray) -> np.ndarray:
        """The right answer to another question: other inputs, another problem."""
        data = {name: array.astype(np.float64) for name, array in {**self.inputs, **inputs}.items()}
        return convolve(problem or self.problem, data)

    def scene(self, **more: object) -> Scene:
        return Scene.thinned(
            self.problem, self.result, self.reference, poison=self.poison_bits, inputs=self.inputs, **more
        )


@pytest.fixture
def patient() -> type[Patient]:
    return Patient
