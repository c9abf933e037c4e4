"""An operation that says nothing of its space: sizes, a flag and types, and one rule of what cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from bitgate.model import DtypeSet, Operation, ProblemError, Tensor


@dataclass(frozen=True)
class ToyProblem:
    """A softmax along rows, whose heads are a multiple of its groups."""

    dtypes: DtypeSet
    groups: int
    heads: int
    columns: int
    causal: bool = False

    def __post_init__(self) -> None:
        if self.heads % self.groups:
            raise ProblemError(f"heads = {self.heads} is no multiple of groups = {self.groups}")

    @property
    def operation(self) -> Operation:
        return TOY

    @property
    def flops(self) -> int:
        return 2 * prod((self.groups, self.heads, self.columns))

    @property
    def result(self) -> str:
        return "y"

    @property
    def outputs(self) -> tuple[str, ...]:
        return ("y",)

    @property
    def tensors(self) -> dict[str, Tensor]:
        lengths = (self.groups, self.heads, self.columns)
        strides = (self.heads * self.columns, self.columns, 1)
        return {role: Tensor(role, self.dtypes.inp, "ghc", lengths, strides) for role in ("x", "y")}


class Toy(Operation):
    name = "toy"
    problem_type = ToyProblem

    def parse(self, text: str, words: list[str]) -> Any:
        raise ProblemError(f"case '{text}': nobody spells a toy")

    def spell(self, problem: ToyProblem) -> str:
        causal = "_causal" * problem.causal
        return f"toy_{problem.dtypes}_g{problem.groups}h{problem.heads}c{problem.columns}{causal}"

    def human(self, problem: ToyProblem) -> str:
        return self.spell(problem)


TOY = Toy()
