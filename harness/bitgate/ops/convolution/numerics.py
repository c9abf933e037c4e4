"""The judging of a convolution: its data, what its sums may reach, and the other side of the checksum identity.

With r the weights of numerics/checksum.py, the identity of <dx, r> is <dy, fwd(r, w)>, and alike for the other passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model import DTYPES
from bitgate.model.form import Array
from bitgate.model.numerics import Index, Ints, Mask, Measuring, Values, Weights
from bitgate.numerics.certificate import few_terms
from bitgate.numerics.checksum import CHUNK
from bitgate.numerics.contraction import ContractionNumerics
from bitgate.ops.convolution import reference
from bitgate.ops.convolution.form import POSITIONS, ConvolutionForm, third
from bitgate.ops.convolution.problem import ConvProblem, Pass

BESIDE_PADDING = {
    Pass.FWD: ("in", "wei", 1, 2),
    Pass.BWD_DATA: ("out", "wei", 2, 2),
    Pass.BWD_WEIGHT: ("in", "out", 2, 1),
}
"""The operand that the border pads, the other one, and the axes of that and of the result that hold their common
channel."""


class ConvolutionNumerics(ContractionNumerics):
    """One for all three passes: the problem says which it is."""

    def form(self, problem: ConvProblem) -> ConvolutionForm:
        return _form(problem)

    # ---- data

    def terms(self, problem: ConvProblem) -> int:
        return terms(problem)

    def has_products(self, problem: ConvProblem) -> bool:
        return has_products(problem)

    def sparse_operand(self, problem: ConvProblem) -> str:
        if problem.direction is Pass.BWD_WEIGHT:
            return "out" if problem.k >= problem.c else "in"
        return "wei"

    def endless_operand(self, problem: ConvProblem, seed: int) -> str:
        return "out" if problem.direction is Pass.BWD_DATA else "in"

    def met(self, problem: ConvProblem, hot: str, one: Index, cell: Index) -> Index | None:
        other = next(name for name in problem.operands if name != hot)
        axes = self.form(problem).axes
        at = dict(zip(axes[hot][:3], one, strict=False))
        for name, index in zip(axes[problem.result][:3], cell, strict=False):
            if at.setdefault(name, index) != index:
                return None
        lengths = problem.tensors[other].lengths
        element = [at[name] for name in axes[other][:3]]
        for axis in range(problem.ndim):
            known = {POSITIONS[hot]: one[3 + axis], POSITIONS[problem.result]: cell[3 + axis]}
            place = third(problem, axis, known)
            if place is None or not 0 <= place < lengths[3 + axis]:
                return None
            element.append(place)
        return tuple(element)

    # ---- certificates

    def largest_sum(self, problem: ConvProblem, measuring: Measuring) -> float:
        return largest_sum(problem, measuring)

    def silent_indices(self, problem: ConvProblem, measuring: Measuring) -> tuple[int, int]:
        return silent_indices(problem, measuring)

    # ---- references

    write_exact = staticmethod(reference.write_exact)
    ordered_sums = staticmethod(reference.ordered_sums)

    def beside_padding(self, problem: ConvProblem, endless: Callable[[str], Array], threads: int) -> Mask | None:
        """Return the mask; of backward data every tap counts, whether or not its class meets the cell."""
        padded, other, channels, result_channels = BESIDE_PADDING[problem.direction]
        flags = endless(other)
        if not flags.any():
            return None
        ones = np.broadcast_to(1.0, problem.tensors[padded].lengths)
        inside = reference.ordered_sums(problem, {padded: ones, other: flags}, DTYPES["f64"], threads)
        every = flags.sum(axis=tuple(axis for axis in range(1, flags.ndim) if axis != channels))
        shape = [1] * inside.ndim
        shape[0], shape[result_channels] = every.shape
        return np.asarray(inside < every.reshape(shape))

    # ---- checksums

    def checksum_cost(self, problem: ConvProblem) -> int:
        return _checksum_cost(problem)

    def checksum(self, problem: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
        return _checksum_parts(problem, weights, values)


@lru_cache(maxsize=256)
def _form(problem: ConvProblem) -> ConvolutionForm:
    return ConvolutionForm(problem)


def terms(problem: ConvProblem) -> int:
    """Return the largest number of products in one cell.

    Under strides a cell of dx meets only the taps of its residue class.
    """
    if problem.direction is not Pass.BWD_DATA:
        return problem.reduction
    axes = zip(problem.filter, problem.stride, problem.dilation, strict=True)
    return problem.k * prod(-(-f // (s // gcd(s, d))) for f, s, d in axes)


@lru_cache(maxsize=4096)
def has_products(problem: ConvProblem) -> bool:
    """Return whether any tap of any output position is within the input."""
    return all(
        any(
            (first := max(0, -(-(pad - tap * d) // s))) < output and first * s + tap * d - pad < length
            for tap in range(taps)
        )
        for length, output, taps, s, d, pad in zip(
            problem.input,
            problem.output,
            problem.filter,
            problem.stride,
            problem.dilation,
            problem.left_pad,
            strict=True,
        )
    )


def largest_sum(problem: ConvProblem, measuring: Measuring) -> float:
    """Return max|a| times the largest sum|b| that one result cell can meet."""
    first, second = problem.operands
    if problem.direction is Pass.BWD_DATA:
        found = {"out": measuring("out", ()), "wei": measuring("wei", (0, 2, *range(3, 3 + problem.ndim)))}
        sums = found["out"].largest * _largest_class(problem, found["wei"].sums)
    elif problem.direction is Pass.FWD:
        found = {"in": measuring("in", ()), "wei": measuring("wei", (0, 1))}
        sums = found["in"].largest * float(found["wei"].sums.max())
    else:
        # Either operand may be the one that is summed; x is summed over more cells than any one tap meets.
        found = {name: measuring(name, (0, 2)) for name in (first, second)}
        sums = min(
            found[first].largest * float(found[second].sums.max()),
            found[second].largest * float(found[first].sums.max()),
        )
    return min(sums, few_terms(problem, measuring, found))


def _largest_class(problem: ConvProblem, sums: NDArray[np.float64]) -> float:
    """Return the largest sum over one residue class of taps; ``sums`` is (g, c, filter...).

    Taps f and f' of an axis meet in one cell of dx only if they agree modulo stride / gcd(stride, dilation).
    """
    for axis, (f, s, d) in enumerate(zip(problem.filter, problem.stride, problem.dilation, strict=True), 2):
        tildes = s // gcd(s, d)
        starts = range(min(tildes, f))
        index = [slice(None)] * sums.ndim
        classes = []
        for start in starts:
            index[axis] = slice(start, None, tildes)
            classes.append(sums[tuple(index)].sum(axis=axis))
        sums = np.stack(classes, axis=axis)
    return float(sums.max())


def silent_indices(problem: ConvProblem, measuring: Measuring) -> tuple[int, int]:
    """Return how many reduction indices meet no non-zero product, and the number of all.

    An index is a group, and channel and tap, or image and position.
    """
    spatial = tuple(range(3, 3 + problem.ndim))
    if problem.direction is Pass.BWD_WEIGHT:
        dy = measuring("out", (0, 1, *spatial)).sums > 0
        x = measuring("in", (0, 1, *spatial)).sums > 0
        heard = dy & _seen_by_a_tap(problem, x)
    else:
        name, channel = ("in", 2) if problem.direction is Pass.FWD else ("out", 1)
        factor = measuring(name, (0, 2)).sums > 0  # (g, c) or (g, k)
        weights = measuring("wei", (0, channel, *spatial)).sums > 0
        heard = weights & factor.reshape(*factor.shape, *(1,) * problem.ndim)
    return int(heard.size - np.count_nonzero(heard)), heard.size


def _seen_by_a_tap(problem: ConvProblem, x: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each (g, n, output position) whether x is non-zero somewhere under the filter."""
    seen = np.zeros((problem.g, problem.n, *problem.output), np.bool_)
    for tap in product(*(range(f) for f in problem.filter)):
        positions, cells = [], []
        for axis, f in enumerate(tap):
            cell = np.arange(problem.output[axis]) * problem.stride[axis]
            cell += f * problem.dilation[axis] - problem.left_pad[axis]
            inside = (cell >= 0) & (cell < problem.input[axis])
            positions.append(np.flatnonzero(inside))
            cells.append(cell[inside])
        if all(len(p) for p in positions):
            images = [np.arange(problem.g), np.arange(problem.n)]
            seen[np.ix_(*images, *positions)] |= x[np.ix_(*images, *cells)]
    return seen


def _checksum_parts(p: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Return parts of the sum, modulo 2^64, of the result under the weights."""
    return (_bwd_weight if p.direction is Pass.BWD_WEIGHT else _through_filters)(p, weights, values)


def _checksum_cost(p: ConvProblem) -> int:
    """Return the number of operand cells that the identity reads."""
    places, taps = p.g * p.n * prod(p.output), prod(p.filter)
    return {
        Pass.FWD: taps * (places * p.c + p.g * p.k * p.c),
        Pass.BWD_DATA: taps * (places * p.k + p.g * p.k * p.c),
        Pass.BWD_WEIGHT: taps * places * (p.k + p.c),
    }[p.direction]


def _through_filters(p: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
    """Yield parts of forward and backward data: what is read meets the filters, summed over its channels."""
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
    """Return w at one tap, (g, k, c)."""
    index = np.arange(p.g * p.k * p.c, dtype=np.uint64) * np.uint64(prod(p.filter)) + np.uint64(tap)
    return values("wei", index).reshape(p.g, p.k, p.c)


def _meetings(p: ConvProblem, channels: int) -> Iterator[tuple[int, NDArray[np.uint64], NDArray[np.uint64]]]:
    """Yield for each tap the input and output cells (flat spatial indices) that meet there, in chunks."""
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
    """Return logical indices (g, row, channel, place) of a tensor with ``size`` spatial cells."""
    outer = np.arange(groups * rows * channels, dtype=np.uint64).reshape(groups, rows, channels, 1)
    cells: NDArray[np.uint64] = outer * np.uint64(size) + places
    return cells
