"""The other side of the checksum identity (exact/checksum.py) of the three passes: of <dx, r> it is <dy, fwd(r, w)>."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model.numerics import Ints, Values, Weights
from bitgate.numerics.checksum import CHUNK
from bitgate.ops.convolution.problem import ConvProblem, Pass


def parts(p: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Parts of the sum, modulo 2^64, of the result under the weights."""
    return (_bwd_weight if p.direction is Pass.BWD_WEIGHT else _through_filters)(p, weights, values)


def cost(p: ConvProblem) -> int:
    """Operand cells that the other side looks at."""
    places, taps = p.g * p.n * prod(p.output), prod(p.filter)
    return {
        Pass.FWD: taps * (places * p.c + p.g * p.k * p.c),
        Pass.BWD_DATA: taps * (places * p.k + p.g * p.k * p.c),
        Pass.BWD_WEIGHT: taps * places * (p.k + p.c),
    }[p.direction]


def _through_filters(p: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Forward and backward data: what is read meets the filters, summed over its own channels."""
    forward = p.direction is Pass.FWD
    summed, kept, role = (p.c, p.k, "in") if forward else (p.k, p.c, "out")
    lengths = (prod(p.input), prod(p.output)) if forward else (prod(p.output), prod(p.input))
    a = weights.of_channel(np.arange(p.g * kept)).reshape(p.g, kept)
    for tap, *places in _meetings(p, summed):
        read, written = places if forward else reversed(places)
        filters = np.einsum("gk,gkc->gc" if forward else "gc,gkc->gk", a, _filters_at(p, tap, values))
        operand = values(role, _cells(p.g, p.n, summed, lengths[0], read))
        b = weights.of_place(_cells(p.g, p.n, 1, lengths[1], written))[:, :, 0]
        yield int(np.einsum("gnsp,gs,gnp->", operand, filters, b))


def _bwd_weight(p: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
    a = weights.of_channel(np.arange(p.g * p.c)).reshape(p.g, p.c)
    rows = np.arange(p.g * p.k, dtype=np.uint64).reshape(p.g, p.k) * np.uint64(prod(p.filter))
    for tap, inputs, outputs in _meetings(p, max(p.c, p.k)):
        b = weights.of_place(rows + np.uint64(tap))
        x = np.einsum("gncp,gc->gnp", values("in", _cells(p.g, p.n, p.c, prod(p.input), inputs)), a)
        dy = np.einsum("gnkp,gk->gnp", values("out", _cells(p.g, p.n, p.k, prod(p.output), outputs)), b)
        yield int((x * dy).sum(dtype=np.int64))


def _filters_at(p: ConvProblem, tap: int, values: Values) -> Ints:
    """w at one tap, (g, k, c)."""
    index = np.arange(p.g * p.k * p.c, dtype=np.uint64) * np.uint64(prod(p.filter)) + np.uint64(tap)
    return values("wei", index).reshape(p.g, p.k, p.c)


def _meetings(p: ConvProblem, channels: int) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.uint64]]]:
    """For each tap the input and output cells (flat spatial indices) that meet at it, some at a time."""
    step = max(1, CHUNK // (p.g * p.n * channels))
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
