"""A reduction along the middle axis of three: shapes, types and strides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from bitgate.model import (
    DTYPES,
    ELEMENTWISE,
    GAP,
    MAX_LENGTH,
    Dtype,
    DtypeSet,
    Elementwise,
    Operation,
    ProblemError,
    Tensor,
    operation_called,
)
from bitgate.model.gap import Gaps, elements_after, settle_gaps, strides_of
from bitgate.model.problem import PlainProblem

ELEMENTS = ("f32", "f16", "bf16", "i8", "i32")
"""The types of x."""


class Kind(str, Enum):
    """The result of a row; a kind and its name are one key.

    ``sum``: from +0, 16-bit floats in f32 and rounded once, i8 into i32, i32 modulo 2^32. ``max``: by the order of
    values, -0 before +0, and NaN, which is written as the type's quiet NaN, above all else. ``argmax``: the maximum,
    and the first place that holds it (of several NaN the first).
    """

    SUM = "sum"
    MAX = "max"
    ARGMAX = "argmax"

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


def types_of(element: Dtype, kind: Kind) -> DtypeSet:
    """Return the types of x, of what is reduced, and of the values."""
    values = DTYPES["i32"] if kind is Kind.SUM and element.name == "i8" else element
    return DtypeSet(element, element, values)


@dataclass(frozen=True)
class ReductionProblem(PlainProblem):
    """A reduction: ``y[o,i]`` is the sum or maximum of ``x[o,l,i]`` over l; ``index[o,i]`` the l of an argmax.

    Lengths: x (outer, length, inner), y and index (outer, inner). ``split_k`` is the number of slices into which
    kernels cut a row; -1: as they like. ``gap`` puts 8 elements between the fastest rows of all tensors; ``gaps`` are
    those of single tensors and axes. ProblemError names the size, type or gap that cannot be.
    """

    dtypes: DtypeSet
    outer: int
    length: int
    inner: int = 1
    kind: Kind = Kind.SUM
    gap: bool = False
    split_k: int = 1
    gaps: Gaps = ()

    def __post_init__(self) -> None:
        if self.dtypes.inp.name not in ELEMENTS:
            raise ProblemError(f"{self.dtypes.inp}: a reduction takes {', '.join(ELEMENTS)}")
        if self.dtypes != types_of(self.dtypes.inp, self.kind):
            right = types_of(self.dtypes.inp, self.kind).out
            raise ProblemError(f"{self.dtypes}: {self.kind} of {self.dtypes.inp} is {right}")
        for name, value in (("o", self.outer), ("l", self.length), ("i", self.inner)):
            if not 1 <= value <= MAX_LENGTH:
                raise ProblemError(f"{name} = {value} is outside 1..{MAX_LENGTH}")
        if self.split_k != -1 and self.split_k < 1:
            raise ProblemError(f"split_k = {self.split_k}: give a positive number, or auto")
        settle_gaps(self)

    @property
    def operation(self) -> Operation:
        return operation_called("reduction")

    @property
    def layout(self) -> str:
        return "oli"

    @property
    def gap_orders(self) -> Mapping[str, str]:
        return {role: tensor.layout for role, tensor in self.tensors.items()}

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors ``x``, ``y``, and of an argmax ``index``."""
        tensors = {
            "x": self._tensor("x", self.dtypes.inp, "oli", "l" if self.inner == 1 else "i"),
            "y": self._tensor("y", self.dtypes.out, "oi", "i"),
        }
        if self.kind is Kind.ARGMAX:
            tensors["index"] = self._tensor("index", DTYPES["i32"], "oi", "i")
        return tensors

    def _tensor(self, role: str, dtype: Dtype, axes: str, row: str) -> Tensor:
        """Return a tensor; ``row`` is the axis after whose rows ``gap`` adds elements."""
        lengths = {"o": self.outer, "l": self.length, "i": self.inner}
        strides = strides_of(axes, lengths, elements_after(self.gaps, role, row, GAP if self.gap else 0))
        return Tensor(role, dtype, axes, tuple(lengths[axis] for axis in axes), tuple(strides[axis] for axis in axes))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The roles that are written."""
        return ("y", "index") if self.kind is Kind.ARGMAX else ("y",)

    @property
    def op(self) -> Elementwise:
        """The operation on a sum: none. Rules of sums read it."""
        return ELEMENTWISE["pass"]

    @property
    def is_split(self) -> bool:
        return self.split_k != 1

    @property
    def attributes(self) -> Mapping[str, int | float | str | tuple[int, ...]]:
        """The attributes by the names of kernels/include/bitgate/reduction.hpp."""
        attributes: dict[str, int | float | str | tuple[int, ...]] = {"kind": self.kind.value}
        if self.split_k != 1:
            attributes["split_k"] = self.split_k
        return attributes

    @property
    def flops(self) -> int:
        return self.outer * self.length * self.inner
