"""The operation that a user states: sizes, tensors, and what is computed."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.dtype import DTYPES, Dtype
from bitgate.model.fill import Fill
from bitgate.model.form import Array, Form
from bitgate.model.numerics import Accumulation, Numerics
from bitgate.model.operation import Operation
from bitgate.model.problem import ProblemError
from bitgate.model.sized import spelling
from bitgate.model.sized.problem import SizedProblem, StatedTensor
from bitgate.model.sized.schema import Schema, schema_of


class Sized(Operation):
    """An operation that its author states in one file, by sizes and tensors.

    ``name``, ``sizes`` and ``tensors`` are a must, and one of: ``is_product``; ``form`` (any other maths that is linear
    in each operand); ``fills`` with ``reference``. Case ids, tables, coverage, fuzzing, shrinking, certificates and
    digests follow (docs/operations.md).
    """

    sizes: type[Any]
    """A frozen dataclass of lengths (int), flags (bool) and choices (an Enum of words); defaults may be stated."""
    silent: tuple[str, ...] = ()
    """Lengths that case ids leave out where they have their default."""
    is_product: bool = False
    """True if the result is the product of all that is read, summed over the axes that it does not have."""
    groups: Mapping[str, str] = {
        "space": "bitgate.model.sized.space:SizedSpace",
        "diagnostics": "bitgate.model.sized.diagnostics:SizedDiagnostics",
    }
    fills: tuple[Fill, ...] = ()
    """Named data of the operation, each with the reason why bits prove something on them."""

    def check(self, sizes: Any) -> str | None:
        """Return in words why sizes cannot be; None if there are such problems."""
        return None

    @abstractmethod
    def tensors(self, sizes: Any) -> Iterable[StatedTensor]:
        """Return ``read`` and ``written`` tensors, in the order in which a kernel gets them."""

    def points(self, sizes: Any) -> int | None:
        """Return how many products a problem takes, where those of all axes together are too many: tables are axes."""
        return None

    def form(self, problem: SizedProblem) -> Form | None:
        """Return the maths without rounding, if it is linear in each operand."""
        from bitgate.model.sized.numerics import Product

        return Product(problem) if self.is_product else None

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, Array], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]] | None:
        """Return bounds for decimals where there is no form, as ``Numerics.bound`` does."""
        return None

    def ordered(self, problem: SizedProblem, inputs: Mapping[str, Array], accumulator: Dtype) -> Array | None:
        """Return the first output in the one order of summation that naive kernels of yours keep (``is_reference``).

        It is computed step by step in the accumulator's type, and not rounded: on any data these kernels are compared
        with it by bits.
        """
        return None

    @property
    def states_order(self) -> bool:
        return type(self).ordered is not Sized.ordered

    @property
    def states_bound(self) -> bool:
        return type(self).bound is not Sized.bound

    # ------------------------------------------------------------------------------------------- what follows

    @cached_property
    def schema(self) -> Schema:
        """ValueError says what is wrong with ``sizes``."""
        return schema_of(self.sizes)

    def stated_tensors(self, sizes: Any) -> tuple[StatedTensor, ...]:
        """Return ``tensors`` after checks; ValueError names what cannot be stated."""
        stated = tuple(self.tensors(sizes))
        if not any(one.is_written for one in stated):
            raise ValueError(f"{self}: tensors: state one that is written")
        for one in stated:
            _check_tensor(one, [other.role for other in stated])
        if self.is_product:
            _check_product(stated, type(self).reference is not Sized.reference)
        return stated

    def parse(self, text: str, words: list[str]) -> SizedProblem:
        return spelling.parse(self, text, words)

    def spell(self, problem: SizedProblem) -> str:
        return spelling.spell(problem)

    def human(self, problem: SizedProblem) -> str:
        return spelling.human(problem)

    @cached_property
    def numerics(self) -> Numerics:
        from bitgate.model.sized.numerics import SizedNumerics

        return SizedNumerics(self)


def _check_tensor(one: StatedTensor, roles: list[str]) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", one.role) or one.role == "d0" or roles.count(one.role) > 1:
        raise ValueError(f"tensor '{one.role}': a role is of a-z, 0-9 and _, once each; d0 is the epilogue's")
    if one.dtype and one.dtype not in DTYPES:
        raise ValueError(f"tensor {one.role}: no type is called '{one.dtype}': {', '.join(DTYPES)}")
    for name, length in one.axes.items():
        if not re.fullmatch(r"[a-z]", name):
            raise ValueError(f"tensor {one.role}: axis '{name}': one letter names an axis")
        if not isinstance(length, int) or length < 1:
            raise ProblemError(f"tensor {one.role}: axis {name} has length {length}")
    if one.order and sorted(one.order) != sorted(one.axes):
        raise ValueError(f"tensor {one.role}: order '{one.order}': give each of {', '.join(one.axes)} once")


def _check_product(stated: tuple[StatedTensor, ...], states_reference: bool) -> None:
    lengths: dict[str, int] = {}
    for one in stated:
        for name, length in one.axes.items():
            if lengths.setdefault(name, length) != length:
                said = f"{length} in {one.role}, {lengths[name]} before it"
                raise ValueError(f"axis {name}: {said}: a product counts the same index by the same name")
    others = [one.role for one in stated if one.is_written][1:]
    if others and not states_reference:
        raise ValueError(f"tensors: a product is one result: nothing says what {', '.join(others)} is")
