"""What sums of a convolution may reach, how many terms they have, and which indices of the reduction they hear."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model.measure import Measuring
from bitgate.numerics.certificate import few_terms
from bitgate.ops.convolution.problem import ConvProblem, Pass


def terms(problem: ConvProblem) -> int:
    """Largest number of products in one cell. Under strides a cell of dx meets only the taps of its residue class."""
    if problem.direction is not Pass.BWD_DATA:
        return problem.reduction
    axes = zip(problem.filter, problem.stride, problem.dilation, strict=True)
    return problem.k * prod(-(-f // (s // gcd(s, d))) for f, s, d in axes)


@lru_cache(maxsize=4096)
def has_products(problem: ConvProblem) -> bool:
    """Does any tap of any output position lie within the input?"""
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
    """max|a| times the largest sum|b| that one result cell can meet."""
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
    """The largest sum over one residue class of taps; ``sums`` is (g, c, filter...). Taps f and f' of an axis meet in
    one cell of dx only if they agree modulo stride / gcd(stride, dilation)."""
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
    """How many reduction indices (group; channel and tap, or image and position) meet no non-zero product, of all."""
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
    """For each (g, n, output position): is x non-zero somewhere under the filter?"""
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
