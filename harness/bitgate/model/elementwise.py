"""Element-wise operations that a kernel applies to its operands and to its accumulator, as case ids name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.problem import ProblemError

FINEST = 256
"""The finest fraction 1/FINEST of which alpha and beta may be multiples while integer data stay exact."""


@dataclass(frozen=True)
class Elementwise:
    """An element-wise operation; ``code`` is its number in the native references, ``num_d`` counts the D tensors it
    reads, and ``takes`` names the factors that a case may choose: ``alpha``, ``beta``.

    The factors of ``ELEMENTWISE`` are small integers, so that integer data stay exact through the operation.
    ``in_place``: d0 is what the result's buffer held before, so nothing may clear it.
    """

    name: str
    code: int
    num_d: int
    alpha: float
    beta: float
    formula: str
    in_place: bool = False
    takes: tuple[str, ...] = ()

    @property
    def plain(self) -> Elementwise:
        """The operation of that name with the factors that case ids leave out."""
        return ELEMENTWISE[self.name]

    @property
    def d_factor(self) -> float:
        """The factor of D: beta where the operation takes one, else 1; 0 without D."""
        return self.beta if "beta" in self.takes else float(self.num_d)

    @cached_property
    def unit(self) -> int:
        """The least power of two whose product with alpha and beta is an integer; 0 where it is above FINEST.

        Integers go through the operation as multiples of 1 / unit. With a unit of 0, as for alpha = 1.2, products with
        alpha or beta are rounded, and no data are exact.
        """
        unit = max(factor.as_integer_ratio()[1] for factor in (self.alpha, self.beta))
        return unit if unit <= FINEST else 0

    @cached_property
    def in_units(self) -> Elementwise:
        """The operation on magnitudes, counted in units: it bounds every number on the way, the bare sum too."""
        unit = max(1, self.unit)
        alpha, beta = max(1.0, unit * abs(self.alpha)), unit * abs(self.beta)
        return self if (alpha, beta) == (self.alpha, self.beta) else replace(self, alpha=alpha, beta=beta)

    @cached_property
    def of_magnitudes(self) -> Elementwise:
        """The operation on magnitudes: with factors that are not negative."""
        return replace(self, alpha=abs(self.alpha), beta=abs(self.beta))

    @property
    def words(self) -> tuple[str, ...]:
        """The words of case ids: the name, and the factors that are not those of ``plain``: bilinear, a1p2, bm1."""
        own = (
            f"{name[0]}{factor_word(getattr(self, name))}"
            for name in self.takes
            if getattr(self, name) != getattr(self.plain, name)
        )
        return (self.name, *own)

    def with_factors(self, factors: Mapping[str, float]) -> Elementwise:
        """Return the operation with these factors, alpha or beta; ProblemError where it takes none, or no such number.

        -0 is 0, so that a problem has one spelling.
        """
        for name, value in factors.items():
            if name not in self.takes:
                can = ", ".join(op.name for op in ELEMENTWISE.values() if name in op.takes)
                raise ProblemError(f"{name} = {value:g}: {self.name} takes none, {can} do")
            if not FACTOR.fullmatch(factor_word(value)):
                raise ProblemError(f"{name} = {value!r}: write at most 6 digits before the point and 9 after it")
        alpha, beta = factors.get("alpha", self.alpha) + 0.0, factors.get("beta", self.beta) + 0.0
        return replace(self, alpha=alpha, beta=beta) if factors else self


ELEMENTWISE: dict[str, Elementwise] = {
    op.name: op
    for op in (
        Elementwise("pass", 0, 0, 1.0, 0.0, "v"),
        Elementwise("scale", 1, 0, 2.0, 0.0, "alpha * v", takes=("alpha",)),
        Elementwise("bias", 2, 1, 1.0, 0.0, "v + d0, d0 one value a channel"),
        Elementwise("nd1", 3, 1, 1.0, 1.0, "v + d0"),
        Elementwise("bilinear", 4, 1, 2.0, 3.0, "alpha * v + beta * d0", takes=("alpha", "beta")),
        Elementwise(
            "inplace",
            4,
            1,
            2.0,
            3.0,
            "alpha * v + beta * d0, d0 being the result as it was",
            in_place=True,
            takes=("alpha", "beta"),
        ),
        Elementwise("relu", 5, 0, 1.0, 0.0, "max(v, 0)"),
    )
}


OPERAND_ELEMENTWISE = ("scale", "relu")
"""The operations that an operand may go through: they read no D tensor. In a case id ``inscale``, ``weirelu``; none:
pass."""


FACTOR = re.compile(r"m?\d{1,6}(?:p\d{1,9})?")
"""A factor in a case id, after the letter of its name: m is the minus, p the point: ``1p2``, ``m1``."""


def factor_word(value: float) -> str:
    """Return a number as case ids write it: 1.2 as ``1p2``, -1 as ``m1``."""
    text = format(Decimal(repr(float(value))), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "m").replace(".", "p")


def factor_of(word: str) -> float:
    """Return the number that ``factor_word`` writes so."""
    return float(word.replace("m", "-").replace("p", "."))


def elementwise_named(name: str) -> Elementwise:
    """Return the operation of a name; ValueError lists the known ones."""
    try:
        return ELEMENTWISE[name]
    except KeyError:
        raise ValueError(f"unknown element-wise operation '{name}': known are {', '.join(ELEMENTWISE)}") from None


def applied(op: Elementwise, values: NDArray[Any], d: NDArray[Any] | None = None) -> NDArray[Any]:
    """Apply ``formula`` in the values' type; relu is 0 if v < 0 else v, so that NaN and -0 stay."""
    if op != op.plain and values.dtype.kind == "i":
        values = values.astype(np.float64)  # integers have no fractions, and no -0
    alpha, beta = (np.asarray(number, values.dtype) for number in (op.alpha, op.beta))
    formulas: dict[str, Callable[[], NDArray[Any]]] = {
        "pass": lambda: values,
        "scale": lambda: alpha * values,
        "bias": lambda: values + d,
        "nd1": lambda: values + d,
        "bilinear": lambda: alpha * values + beta * d,
        "inplace": lambda: alpha * values + beta * d,
        "relu": lambda: np.where(values < 0, np.zeros_like(values), values),
    }
    return np.asarray(formulas[op.name]())
