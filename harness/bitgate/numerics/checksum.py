"""The checksum identity: a result too large for any reference is verified by one exact number.

An operation that is multilinear in two operands is one trilinear form T(a, b, result), so a sum of the result under
weights r is that form with r in the result's place. For backward data, for example::

    <dx, r> = T(r, w, dy) = <dy, fwd(r, w)>

The left side is one pass over the result. r is a product: ``a`` of group and channel times ``b`` of everything else. So
the channels of the right side, which each operation states, are contracted first, and it costs about the smaller
tensors' size instead of the whole. Weights are integers without 0, a function of the counter; sums are exact modulo
2^64. A wrong cell changes the left side by its error times its weight, which is not 0; many wrong cells cancel only by
chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem, Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import Ints, Values
from bitgate.numerics import counter
from bitgate.numerics.fill import FillPlan

RANGE = 2**12
"""Largest factor of a weight."""

AFFORDABLE = 2**26
"""The most operand cells that the right side may read: a few seconds."""

CHUNK = 2**21
"""Cells of one step of an operation's side, so that temporaries stay small."""


@dataclass(frozen=True)
class WeightPlan:
    """The weights of a result's cells; ``spatial`` is the product of its lengths from axis 3 on."""

    rows: int
    channels: int
    spatial: int
    channel_stream: int
    place_stream: int
    range: int = RANGE

    @classmethod
    def of(cls, tensor: Tensor, seed: int = 0) -> WeightPlan:
        return cls(
            rows=tensor.lengths[1],
            channels=tensor.lengths[2],
            spatial=prod(tensor.lengths[3:]),
            channel_stream=counter.stream(seed, "r.a"),
            place_stream=counter.stream(seed, "r.b"),
        )

    def of_channel(self, index: NDArray[Any]) -> Ints:
        """Return factors a: ``index`` counts (group, channel)."""
        return self._factors(self.channel_stream, index)

    def of_place(self, index: NDArray[Any]) -> Ints:
        """Return factors b: ``index`` counts (group, axis 1, spatial cell)."""
        return self._factors(self.place_stream, index)

    def _factors(self, stream: int, index: NDArray[Any]) -> Ints:
        words = counter.words(stream, np.asarray(index, np.uint64))
        return counter.integers(words, self.range, counter.FULL_DENSITY)


def weighted_sum(host: HostTensor, plan: WeightPlan) -> tuple[int, int]:
    """Return (sum of weight * cell modulo 2^64, number of cells that are no integers); a definition, not made for
    speed."""
    with np.errstate(invalid="ignore"):
        cells = host.logical.astype(np.float64).reshape(-1, plan.rows, plan.channels, plan.spatial)
        whole = np.isfinite(cells) & (np.rint(cells) == cells) & (np.abs(cells) < 2.0**62)
        values = np.where(whole, cells, 0).astype(np.int64)
    groups = cells.shape[0]
    a = plan.of_channel(np.arange(groups * plan.channels)).reshape(groups, 1, plan.channels, 1)
    b = plan.of_place(np.arange(groups * plan.rows * plan.spatial)).reshape(groups, plan.rows, 1, plan.spatial)
    total = (a * b * values).sum(dtype=np.int64)
    return int(total) % 2**64, int(cells.size - np.count_nonzero(whole))


def why_not(problem: Problem, bound: int) -> str:
    """Return why the identity does not verify the case; empty if it does. ``bound`` is the certificate's."""
    numerics = problem.operation.numerics
    cost = numerics.checksum_cost(problem)
    if cost is None:
        return f"{problem.operation} states no identity"
    held = problem.tensors[problem.result].dtype.exact_integer
    operations = (numerics.operation_of(problem, name) for name in numerics.operands(problem))
    for op in (numerics.epilogue(problem), *operations):
        if op.name != "pass":
            return f"the operation {op.name} is no part of the identity"
    if bound > held:
        return f"sums may reach {bound}, {problem.tensors[problem.result].dtype} holds them exactly to {held}"
    if cost > AFFORDABLE:
        return f"its other side reads {cost} cells of the operands"
    return ""


def expected(problem: Problem, plan: WeightPlan, values: Values) -> int:
    """Return the other side of the identity, modulo 2^64."""
    with np.errstate(over="ignore"):
        return sum(int(part) for part in problem.operation.numerics.checksum(problem, plan, values)) % 2**64


def planned_values(problem: Problem, plan: FillPlan) -> Values:
    """Return a function for operands as their fill makes them, without their memory. Integer fills only."""

    def values(name: str, index: NDArray[np.uint64]) -> Ints:
        fill = plan.of(name)
        return counter.integers(counter.words(counter.stream(plan.seed, name), index), fill.range, fill.keep)

    return values
