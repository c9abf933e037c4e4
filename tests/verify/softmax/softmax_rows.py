"""A softmax of rows as a separate operation: it has no form, so it states its data, its reference and its bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import DTYPES, Accumulation, DtypeSet, Operation, ProblemError, Tensor
from bitgate.model.fill import Fill
from bitgate.model.numerics import Numerics

FAR = 104
"""exp(-104) is less than half of the smallest f32: beside a winner that is so far above, all others are 0."""


@dataclass(frozen=True)
class SoftmaxProblem:
    """y[r,c] = exp(x[r,c] - max_c x[r,c]) / sum_c of that."""

    rows: int
    columns: int
    dtypes = DtypeSet.parse("f32")
    layout, ndim, result, outputs, result_letters = "rc", 0, "y", ("y",), "rc"
    in_place, is_split, parts = (), False, 1

    @property
    def operation(self) -> Operation:
        return SOFTMAX

    @property
    def tensors(self) -> dict[str, Tensor]:
        lengths, strides = (self.rows, self.columns), (self.columns, 1)
        return {role: Tensor(role, DTYPES["f32"], "rc", lengths, strides) for role in ("x", "y")}

    @property
    def attributes(self) -> dict[str, int]:
        return {}

    @property
    def flops(self) -> int:
        return 4 * self.rows * self.columns

    @property
    def bytes(self) -> int:
        return 8 * self.rows * self.columns


def peaked(problem: SoftmaxProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """One winner a row; of every third row it stands on the last column."""
    random = np.random.default_rng(seed)
    x = random.integers(-3, 4, (problem.rows, problem.columns))
    winners = random.integers(0, problem.columns, problem.rows)
    winners[::3] = problem.columns - 1
    x[np.arange(problem.rows), winners] = FAR + 4
    return {"x": x}


def near(problem: SoftmaxProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    return {"x": np.random.default_rng(seed).uniform(-2, 2, (problem.rows, problem.columns)).astype(np.float32)}


class SoftmaxExactness(Numerics):
    own_fills = ("peaked",)

    def fills(self, problem: Any) -> tuple[Fill, ...]:
        why = f"each row has one winner, at least {FAR} above the rest, whose exp is 0 in f32: a row of one 1 and zeros"
        return Fill("peaked", why, peaked, exact=True), Fill("decimal", "real numbers within 4 of each other", near)

    def bound(
        self, problem: Any, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]]:
        """The difference of two numbers within 4 loses 4 u, exp 2 u, the sum u a term, the division u."""
        y = SOFTMAX.reference(problem, inputs)["y"]
        return {"y": (problem.columns + 16) * 2.0**-accumulation.accumulator.mantissa * y}


class Softmax(Operation):
    name = "softmax"
    problem_type = SoftmaxProblem

    def parse(self, text: str, words: list[str]) -> Any:
        raise ProblemError(f"case '{text}': nobody spells a softmax")

    def spell(self, problem: SoftmaxProblem) -> str:
        return f"softmax_f32_r{problem.rows}c{problem.columns}"

    def human(self, problem: SoftmaxProblem) -> str:
        return f"softmax f32 of {problem.rows} rows of {problem.columns}"

    def reference(self, problem: Any, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        x = np.asarray(inputs["x"], np.float64)
        above = np.exp(x - x.max(axis=1, keepdims=True))
        return {"y": above / above.sum(axis=1, keepdims=True)}

    @cached_property
    def numerics(self) -> Numerics:
        return SoftmaxExactness()


SOFTMAX = Softmax()
