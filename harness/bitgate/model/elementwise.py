"""Element-wise operations that a kernel applies to its operands and to its accumulator, as case ids name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Elementwise:
    """An element-wise operation; ``code`` is its number in the native references, ``num_d`` counts the D tensors it
    reads.

    alpha and beta are small integers, so that integer data stay exact through the operation. ``in_place``: d0 is what
    the result's buffer held before, so nothing may clear it.
    """

    name: str
    code: int
    num_d: int
    alpha: float
    beta: float
    formula: str
    in_place: bool = False


ELEMENTWISE: dict[str, Elementwise] = {
    op.name: op
    for op in (
        Elementwise("pass", 0, 0, 1.0, 0.0, "v"),
        Elementwise("scale", 1, 0, 2.0, 0.0, "alpha * v"),
        Elementwise("bias", 2, 1, 1.0, 0.0, "v + d0, d0 one value a channel"),
        Elementwise("nd1", 3, 1, 1.0, 1.0, "v + d0"),
        Elementwise("bilinear", 4, 1, 2.0, 3.0, "alpha * v + beta * d0"),
        Elementwise("inplace", 4, 1, 2.0, 3.0, "alpha * v + beta * d0, d0 being the result as it was", in_place=True),
        Elementwise("relu", 5, 0, 1.0, 0.0, "max(v, 0)"),
    )
}


OPERAND_ELEMENTWISE = ("scale", "relu")
"""The operations that an operand may go through: they read no D tensor. In a case id ``inscale``, ``weirelu``; none:
pass."""


def elementwise_named(name: str) -> Elementwise:
    """Return the operation of a name; ValueError lists the known ones."""
    try:
        return ELEMENTWISE[name]
    except KeyError:
        raise ValueError(f"unknown element-wise operation '{name}': known are {', '.join(ELEMENTWISE)}") from None


def applied(op: Elementwise, values: NDArray[Any], d: NDArray[Any] | None = None) -> NDArray[Any]:
    """Apply ``formula`` in the values' type; relu is 0 if v < 0 else v, so that NaN and -0 stay."""
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
