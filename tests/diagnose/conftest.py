"""Real references for the diagnosis tests: integer data and a plain convolution, one numpy step a filter tap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bitgate.diagnose import Scene
from bitgate.operation import parse_case_id
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.verify.poison import poison_bits


def convolve(problem: ConvProblem, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The result tensor, summed in f64 and rounded once."""
    x = inputs.get("in")
    w = inputs.get("wei")
    y = inputs.get("out")
    result = np.zeros(problem.tensors[problem.result].lengths)
    for tap in product(*(range(f) for f in problem.filter)):
        i_parts, o_parts = [], []
        for axis, f in enumerate(tap):
            o = np.arange(problem.output[axis])
            i = o * problem.stride[axis] + f * problem.dilation[axis] - problem.left_pad[axis]
            inside = (i >= 0) & (i < problem.input[axis])
            i_parts.append(i[inside])
            o_parts.append(o[inside])
        at_i = (Ellipsis, *np.ix_(*i_parts))
        at_o = (Ellipsis, *np.ix_(*o_parts))
        at_f = (slice(None), slice(None), slice(None), *tap)
        if problem.direction is Pass.FWD:
            result[at_o] += np.einsum("gnc...,gkc->gnk...", x[at_i], w[at_f])
        elif problem.direction is Pass.BWD_DATA:
            result[at_i] += np.einsum("gnk...,gkc->gnc...", y[at_o], w[at_f])
        else:
            flat = (*x[at_i].shape[:3], -1)
            result[at_f] += np.einsum(
                "gnko,gnco->gkc", y[at_o].reshape(flat[0], flat[1], problem.k, -1), x[at_i].reshape(flat)
            )
    return result.astype(problem.tensors[problem.result].dtype.numpy)


def make(case: str, seed: int = 0) -> tuple[ConvProblem, dict[str, np.ndarray], np.ndarray]:
    problem = parse_case_id(case)
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
