"""The ``probe`` fill: one-hot inputs, whose result shows the receptive field of single elements and nothing else.

One operand is zero but for ones that share no result cell: one for each tuple of indices that it has in common with the
result, (g, n) of an activation, (g, k) of a filter, (batch, m) of a matrix. The other operand holds distinct positive
integers. So a result cell is zero or one element of the other operand: its value identifies what reached a cell outside
the receptive field.
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Accumulation, Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import counter
from bitgate.numerics.rounding import gain_of

Index = tuple[int, ...]

_MOST = 2**24
"""The most distinct values: more would identify no cell better."""


def plan_probe(problem: Problem, accumulation: Accumulation, seed: int, d_range: int = 0) -> tuple[str, dict[str, int]]:
    """Return the operand that gets the ones, and the number of distinct values of each operand.

    One operand has many values; where there are more than two, the rest have one. The seed selects the operand.
    ``d_range`` is the largest |d0|.
    """
    order = problem.operation.numerics.probed_operands(problem)
    hot = order[seed % len(order)]
    values = dict.fromkeys(order, 1)
    for other in [name for name in order if name != hot][:1]:
        values[other] = _distinct_values(problem, accumulation, other, d_range)
    return hot, values


def product_of_ones(problem: Problem) -> int:
    """Return the product of ones, once their operations have scaled them."""
    return prod(gain_of(problem, name) for name in problem.operation.numerics.operands(problem))


def make_hot(problem: Problem, name: str, seed: int) -> HostTensor:
    """Make a tensor of 1 at each of ``ones``, and 0 elsewhere."""
    host = HostTensor.empty(problem.tensors[name])
    host.bits[...] = 0
    host.logical[tuple(ones(problem, name, seed).T)] = np.ones((), host.storage.dtype)
    return host


def make_distinct(problem: Problem, name: str, values: int, seed: int) -> HostTensor:
    """Make a tensor of 1 to ``values`` in logical order, repeated; the seed chooses the start."""
    host = HostTensor.empty(problem.tensors[name])
    numbers = 1 + (np.arange(host.tensor.elements, dtype=np.int64) + seed) % values
    host.logical[...] = numbers.reshape(host.tensor.lengths).astype(host.storage.dtype)
    return host


def ones(problem: Problem, name: str, seed: int) -> NDArray[np.int64]:
    """Return the logical indices of the ones, one a row: one for each tuple of the shared axes.

    Along the other axes they are anywhere. Along those that only this operand has (positions of an image, taps) every
    other one is at an edge, since edges are where kernels go wrong.
    """
    numerics = problem.operation.numerics
    form = numerics.form(problem)
    lengths = problem.tensors[name].lengths
    shared = numerics.shared_axes(problem, name)
    with_edges = form.own_axes(name) if form is not None else ()
    sizes = [lengths[axis] for axis in shared]
    tuples: NDArray[Any] = np.indices(sizes).reshape(len(shared), prod(sizes))
    columns: list[NDArray[Any]] = []
    start = counter.stream(seed, "probe")
    for axis, length in enumerate(lengths):
        if axis in shared:
            columns.append(tuples[shared.index(axis)])
            continue
        words = counter.words(start, np.arange(tuples.shape[1], dtype=np.uint64) + np.uint64(axis << 40))
        anywhere = (words >> np.uint64(8)) % np.uint64(length)
        at_edge = np.where(words & np.uint64(1), np.uint64(length - 1), np.uint64(0))
        columns.append(np.where((words & np.uint64(2) != 0) & (axis in with_edges), at_edge, anywhere))
    return np.stack(columns, axis=1).astype(np.int64)


def _distinct_values(problem: Problem, accumulation: Accumulation, other: str, d_range: int) -> int:
    """Return how many integers from 1 up survive every type on the way: a prime, so that strides of a layout seldom
    repeat a value."""
    numerics, tensors = problem.operation.numerics, problem.tensors
    op = numerics.epilogue(problem).in_units
    exact = min(accumulation.exact_range, tensors[problem.result].dtype.exact_integer)
    room = (exact - ceil(op.d_factor) * d_range) // ceil(op.alpha) // product_of_ones(problem)
    factor = numerics.multiplicand(problem, other).exact_integer // gain_of(problem, other)
    held = min(tensors[other].dtype.exact_integer, factor, _MOST)
    return _prime_up_to(max(1, min(held, room)))


def _prime_up_to(limit: int) -> int:
    """Return the largest prime that is not above ``limit``; 1 if there is none."""
    for candidate in range(limit, 1, -1):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 1
