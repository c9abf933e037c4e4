"""An operation with two outputs, and a kernel of it that harms either on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.plain_family import plain_family

from bitgate.kernel.declaration import Instance, Option
from bitgate.model import DTYPES, F32_ACCUMULATION, Accumulation, DtypeSet, Operation, ProblemError, Tensor
from bitgate.model.fill import Fill
from bitgate.model.numerics import Numerics

ILLNESSES = ("none", "last", "value", "both", "no_index", "past_index", "gap", "race")


@dataclass(frozen=True)
class RowMaximumProblem:
    """value[r] = max_c x[r,c], index[r] = the first c that has it. ``pitch``: elements from one index to the next."""

    rows: int
    columns: int
    pitch: int = 1
    dtypes = DtypeSet.parse("f32")
    layout, ndim, result, outputs, result_letters = "rc", 0, "value", ("value", "index"), "r"
    in_place, is_split, parts, flops, bytes = (), False, 1, 0, 0

    @property
    def operation(self) -> Operation:
        return ROW_MAXIMUM

    @property
    def tensors(self) -> dict[str, Tensor]:
        x = Tensor("x", DTYPES["f32"], "rc", (self.rows, self.columns), (self.columns, 1))
        value = Tensor("value", DTYPES["f32"], "r", (self.rows,), (1,))
        return {"x": x, "value": value, "index": Tensor("index", DTYPES["i32"], "r", (self.rows,), (self.pitch,))}

    @property
    def attributes(self) -> dict[str, int]:
        return {}


def ties(problem: RowMaximumProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Few numbers, so that each row has its maximum more than once."""
    return {"x": np.random.default_rng(seed).integers(-5, 6, (problem.rows, problem.columns))}


def reals(problem: RowMaximumProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    return {"x": np.random.default_rng(seed).random((problem.rows, problem.columns), np.float32)}


class MaximumExactness(Numerics):
    def fills(self, problem: Any) -> tuple[Fill, ...]:
        return Fill("exact", "a maximum moves bits", ties, exact=True), Fill("decimal", "real numbers", reals)

    def bound(
        self, problem: Any, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]]:
        """None is stated for the index: it is right or wrong."""
        return {"value": np.full(problem.rows, 2.0**-20)}


class RowMaximum(Operation):
    name = "row_maximum"
    problem_type = RowMaximumProblem

    def parse(self, text: str, words: list[str]) -> Any:
        raise ProblemError(f"case '{text}': nobody spells a maximum")

    def spell(self, problem: RowMaximumProblem) -> str:
        return f"row_maximum_f32_r{problem.rows}c{problem.columns}p{problem.pitch}"

    def human(self, problem: RowMaximumProblem) -> str:
        return f"maximum of {problem.rows} rows of {problem.columns}"

    def reference(self, problem: Any, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        return {"value": inputs["x"].max(axis=1), "index": inputs["x"].argmax(axis=1)}

    @cached_property
    def numerics(self) -> Numerics:
        return MaximumExactness()


ROW_MAXIMUM = RowMaximum()

F32 = Instance("f32", "row_maximum", ("f32",), ("rc",), (0,), F32_ACCUMULATION, vector=(1, 1, 1), block_size=64)
ILLNESS = Option("illness", ILLNESSES, "none", "what goes wrong")
FAMILY = plain_family(
    Path(__file__).parent, "row_maximum.hip.cpp", operations=("row_maximum",), instances=(F32,), options=(ILLNESS,)
)
