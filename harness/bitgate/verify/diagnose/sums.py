"""Tools of rules on sums of products: the products of a cell of the result, and what becomes of their sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Elementwise, Problem
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.rounding import rounded

Floats = NDArray[np.float64]
Index = tuple[int, ...]


class Summed(Problem, Protocol):
    """A problem in which each cell of the result is a sum of products, followed by an element-wise operation."""

    @property
    def op(self) -> Elementwise:
        """The element-wise operation on the sum."""


S = TypeVar("S", bound=Summed)

Terms: TypeAlias = Callable[[S, Mapping[str, Array], Index], Floats]
"""The products of one cell in f64; 0 where there is none."""

CELLS = 48
PRODUCTS = 4_000_000
"""The most products that a rule computes, over all sampled cells."""


def cells_at_most(products: int) -> int:
    """Return the number of cells that a rule may examine if each takes ``products`` products."""
    return max(4, min(CELLS, PRODUCTS // max(1, products)))


def finish(problem: Summed, inputs: Mapping[str, Array], cell: Index, sums: Floats) -> Array:
    """Return the bits of sums of products in the result's type, after the problem's element-wise operation.

    They are exact as long as the sums are: there is one rounding, the last.
    """
    op = problem.op
    d0 = float(inputs["d0"][cell]) if op.num_d else 0.0
    values = {
        "pass": lambda v: v,
        "scale": lambda v: op.alpha * v,
        "bias": lambda v: v + d0,
        "nd1": lambda v: v + d0,
        "bilinear": lambda v: op.alpha * v + op.beta * d0,
        "inplace": lambda v: op.alpha * v + op.beta * d0,
        "relu": lambda v: np.maximum(v, 0.0),
    }[op.name](sums)
    return bits_of(rounded(np.asarray(values), problem.tensors[problem.result].dtype))
