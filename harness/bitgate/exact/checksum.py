"""The checksum identity: a result too large for any reference is verified by one exact number.

All three passes are one trilinear form T(x, w, y) = sum x[i] * w[f] * y[o] over the terms of a convolution, so a sum of
the result under weights r is that form with r in the result's place. Backward data, for example::

    <dx, r> = T(r, w, dy) = <dy, fwd(r, w)>

The left side is one pass over the result. r is a product, ``a`` of group and channel times ``b`` of everything else, so
that the channels of the right side are contracted first and it costs about the smaller tensors' size instead of a
convolution. Weights are integers without 0, a function of the counter; sums are exact modulo 2^64. A wrong cell
changes the left side by its error times its weight, which is not 0; many wrong cells cancel only by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.exact import counter
from bitgate.exact.fill import FillPlan
from bitgate.exact.tensor import HostTensor
from bitgate.operation import Tensor
from bitgate.operations.convolution import ConvProblem, Pass

RANGE = 2**12
"""Largest factor of a weight."""

AFFORDABLE = 2**26
"""Operand cells that the right side may look at: a few seconds."""

_CHUNK = 2**21
"""Cells of one step, so that temporaries stay small."""

Ints = NDArray[np.int64]
Values = Callable[[str, NDArray[np.uint64]], Ints]
"""``values(name, index)``: an operand's cells at logical indices."""


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
        """a: ``index`` counts (group, channel)."""
        return self._factors(self.channel_stream, index)

    def of_place(self, index: NDArray[Any]) -> Ints:
        """b: ``index`` counts (group, axis 1, spatial cell)."""
        return self._factors(self.place_stream, index)

    def _factors(self, stream: int, index: NDArray[Any]) -> Ints:
        words = counter.words(stream, np.asarray(index, np.uint64))
        return counter.integers(words, self.range, counter.FULL_DENSITY)


def weighted_sum(host: HostTensor, plan: WeightPlan) -> tuple[int, int]:
    """(sum of weight * cell modulo 2^64, how many cells are no integers); a definition, not made for speed."""
    cells = host.logical.astype(np.float64).reshape(-1, plan.rows, plan.channels, plan.spatial)
    groups = cells.shape[0]
    with np.errstate(invalid="ignore"):
        whole = np.isfinite(cells) & (np.rint(cells) == cells) & (np.abs(cells) < 2.0**62)
        values = np.where(whole, cells, 0).astype(np.int64)
    a = plan.of_channel(np.arange(groups * plan.channels)).reshape(groups, 1, plan.channels, 1)
    b = plan.of_place(np.arange(groups * plan.rows * plan.spatial)).reshape(groups, plan.rows, 1, plan.spatial)
    total = (a * b * values).sum(dtype=np.int64)
    return int(total) % 2**64, int(cells.size - np.count_nonzero(whole))


def why_not(problem: ConvProblem, bound: int) -> str:
    """Why the identity does not verify the case; empty if it does. ``bound`` is the certificate's."""
    held = problem.tensors[problem.result].dtype.exact_integer
    for op in (problem.op, *(problem.operation_of(name) for name in problem.operands)):
        if op.name != "pass":
            return f"the operation {op.name} is no part of the identity"
    if bound > held:
        return f"sums may reach {bound}, {problem.tensors[problem.result].dtype} holds them exactly to {held}"
    if _cost(problem) > AFFORDABLE:
        return f"its other side looks at {_cost(problem)} cells of the operands"
    return ""


def expected(problem: ConvProblem, plan: WeightPlan, values: Values) -> int:
    """The other side of the identity, modulo 2^64."""
    side = {Pass.FWD: _fwd, Pass.BWD_DATA: _bwd_data, Pass.BWD_WEIGHT: _bwd_weight}[problem.direction]
    with np.errstate(over="ignore"):
        return sum(int(part) for part in side(problem, plan, values)) % 2**64


def planned_values(problem: ConvProblem, plan: FillPlan) -> Values:
    """Operands as their fill makes them, without their memory. Integer fills only."""

    def values(name: str, index: NDArray[np.uint64]) -> Ints:
        fill = plan.of(name)
        return counter.integers(counter.words(counter.stream(plan.seed, name), index), fill.range, fill.keep)

    return values


def stored_values(inputs: dict[str, HostTensor]) -> Values:
    """Operands that lie in memory."""

    def values(name: str, index: NDArray[np.uint64]) -> Ints:
        at = np.unravel_index(index.astype(np.int64), inputs[name].tensor.lengths)
        return inputs[name].logical[at].astype(np.int64)

    return values


def _cost(p: ConvProblem) -> int:
    places, taps = p.g * p.n * prod(p.output), prod(p.filter)
    return {
        Pass.FWD: taps * (places * p.c + p.g * p.k * p.c),
        Pass.BWD_DATA: taps * (places * p.k + p.g * p.k * p.c),
        Pass.BWD_WEIGHT: taps * places * (p.k + p.c),
    }[p.direction]


def _fwd(p: ConvProblem, plan: WeightPlan, values: Values) -> Iterator[np.int64]:
    a = plan.of_channel(np.arange(p.g * p.k)).reshape(p.g, p.k)
    for tap, inputs, outputs in _meetings(p, p.c):
        weights = np.einsum("gk,gkc->gc", a, _weights_at(p, tap, values))
        x = values("in", _cells(p.g, p.n, p.c, prod(p.input), inputs))
        b = plan.of_place(_cells(p.g, p.n, 1, prod(p.output), outputs))[:, :, 0]
        yield np.einsum("gncp,gc,gnp->", x, weights, b)


def _bwd_data(p: ConvProblem, plan: WeightPlan, values: Values) -> Iterator[np.int64]:
    a = plan.of_channel(np.arange(p.g * p.c)).reshape(p.g, p.c)
    for tap, inputs, outputs in _meetings(p, p.k):
        weights = np.einsum("gc,gkc->gk", a, _weights_at(p, tap, values))
        dy = values("out", _cells(p.g, p.n, p.k, prod(p.output), outputs))
        b = plan.of_place(_cells(p.g, p.n, 1, prod(p.input), inputs))[:, :, 0]
        yield np.einsum("gnkp,gk,gnp->", dy, weights, b)


def _bwd_weight(p: ConvProblem, plan: WeightPlan, values: Values) -> Iterator[np.int64]:
    a = plan.of_channel(np.arange(p.g * p.c)).reshape(p.g, p.c)
    rows = np.arange(p.g * p.k, dtype=np.uint64).reshape(p.g, p.k) * np.uint64(prod(p.filter))
    for tap, inputs, outputs in _meetings(p, max(p.c, p.k)):
        b = plan.of_place(rows + np.uint64(tap))
        x = np.einsum("gncp,gc->gnp", values("in", _cells(p.g, p.n, p.c, prod(p.input), inputs)), a)
        dy = np.einsum("gnkp,gk->gnp", values("out", _cells(p.g, p.n, p.k, prod(p.output), outputs)), b)
        yield (x * dy).sum(dtype=np.int64)


def _weights_at(p: ConvProblem, tap: int, values: Values) -> Ints:
    """w at one tap, (g, k, c)."""
    index = np.arange(p.g * p.k * p.c, dtype=np.uint64) * np.uint64(prod(p.filter)) + np.uint64(tap)
    return values("wei", index).reshape(p.g, p.k, p.c)


def _meetings(p: ConvProblem, channels: int) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.uint64]]]:
    """For each tap the input and output cells (flat spatial indices) that meet at it, some at a time."""
    step = max(1, _CHUNK // (p.g * p.n * channels))
    for tap, at in enumerate(product(*(range(f) for f in p.filter))):
        inputs, outputs = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
        for axis, f in enumerate(at):
            o = np.arange(p.output[axis])
            i = o * p.stride[axis] + f * p.dilation[axis] - p.left_pad[axis]
            inside = (i >= 0) & (i < p.input[axis])
            inputs = (inputs[:, None] * np.uint64(p.input[axis]) + i[inside].astype(np.uint64)).reshape(-1)
            outputs = (outputs[:, None] * np.uint64(p.output[axis]) + o[inside].astype(np.uint64)).reshape(-1)
        for begin in range(0, len(inputs), step):
            yield tap, inputs[begin : begin + step], outputs[begin : begin + step]


def _cells(groups: int, rows: int, channels: int, size: int, places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Logical indices (g, row, channel, place) of a tensor with ``size`` spatial cells."""
    outer = np.arange(groups * rows * channels, dtype=np.uint64).reshape(groups, rows, channels, 1)
    cells: NDArray[np.uint64] = outer * np.uint64(size) + places
    return cells
