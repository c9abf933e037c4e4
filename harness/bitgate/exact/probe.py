"""The ``probe`` fill: one-hot inputs, whose result shows the receptive field of single elements and nothing else.

One operand is zero but for ones that share no result cell: one for each index pair that it has in common with the
result, (g, n) of an activation or (g, k) of a filter. The other operand holds distinct positive integers. So a result
cell is zero or one element of the other operand: what reached a cell outside the receptive field, its value tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.exact import counter
from bitgate.exact.factors import gain
from bitgate.exact.tensor import HostTensor
from bitgate.operation import Accumulation
from bitgate.operations.convolution import ConvProblem

ROLES = {"in": "gnc", "wei": "gkc", "out": "gnk"}
"""What the first three axes of each tensor mean."""

COORDINATE = {"in": "i", "wei": "f", "out": "o"}
"""What the spatial axes of each tensor count, in i = o * stride + f * dilation - left_pad."""

Index = tuple[int, ...]

_MOST = 2**24
"""More distinct values than this name no cell better."""


def plan_probe(
    problem: ConvProblem, accumulation: Accumulation, seed: int, d_range: int = 0
) -> tuple[str, dict[str, int]]:
    """The operand that gets the ones, and how many distinct values each operand holds.

    Even seeds put the ones into x or dy, odd seeds into w (or, for bwd_weight, into dy). ``d_range``: the largest |d0|.
    """
    first, second = sorted(problem.operands, key=lambda name: name == "wei")
    hot, other = (first, second) if seed % 2 == 0 else (second, first)
    return hot, {hot: 1, other: _distinct_values(problem, accumulation, other, d_range)}


def product_of_ones(problem: ConvProblem) -> int:
    """What the product of two ones is, once their operations have scaled them."""
    first, second = problem.operands
    return gain(problem.operation_of(first)) * gain(problem.operation_of(second))


def make_hot(problem: ConvProblem, name: str, seed: int) -> HostTensor:
    """1 at each of ``ones``, 0 elsewhere."""
    host = HostTensor.empty(problem.tensors[name])
    host.bits[...] = 0
    host.logical[tuple(ones(problem, name, seed).T)] = np.ones((), host.storage.dtype)
    return host


def make_distinct(problem: ConvProblem, name: str, values: int, seed: int) -> HostTensor:
    """1 to ``values`` in logical order, over and over; the seed chooses where it starts."""
    host = HostTensor.empty(problem.tensors[name])
    numbers = 1 + (np.arange(host.tensor.elements, dtype=np.int64) + seed) % values
    host.logical[...] = numbers.reshape(host.tensor.lengths).astype(host.storage.dtype)
    return host


def ones(problem: ConvProblem, name: str, seed: int) -> NDArray[np.int64]:
    """The logical indices of the ones, one a row: one for each pair of the shared axes; the channel anywhere, spatial
    positions at an edge every other time, since edges are where kernels go wrong."""
    lengths = problem.tensors[name].lengths
    shared = shared_axes(problem, name)
    pairs: NDArray[Any] = np.indices([lengths[axis] for axis in shared]).reshape(len(shared), -1)
    columns: list[NDArray[Any]] = []
    start = counter.stream(seed, "probe")
    for axis, length in enumerate(lengths):
        if axis in shared:
            columns.append(pairs[shared.index(axis)])
            continue
        words = counter.words(start, np.arange(pairs.shape[1], dtype=np.uint64) + np.uint64(axis << 40))
        anywhere = (words >> np.uint64(8)) % np.uint64(length)
        at_edge = np.where(words & np.uint64(1), np.uint64(length - 1), np.uint64(0))
        columns.append(np.where((words & np.uint64(2) != 0) & (axis >= 3), at_edge, anywhere))
    return np.stack(columns, axis=1).astype(np.int64)


def shared_axes(problem: ConvProblem, name: str) -> Index:
    """Axes of an operand whose index the result has too: ones that differ in them meet no common cell."""
    return tuple(axis for axis, role in enumerate(ROLES[name]) if role in ROLES[problem.result])


def met(problem: ConvProblem, hot: str, one: Index, cell: Index) -> Index | None:
    """The element of the other operand that the result cell multiplies with element ``one`` of ``hot``; None if the
    cell is outside that element's receptive field."""
    other = next(name for name in problem.operands if name != hot)
    roles = dict(zip(ROLES[hot], one[:3], strict=True))
    for role, index in zip(ROLES[problem.result], cell[:3], strict=True):
        if roles.setdefault(role, index) != index:
            return None
    lengths = problem.tensors[other].lengths
    element = [roles[role] for role in ROLES[other]]
    for axis in range(problem.ndim):
        known = {COORDINATE[hot]: one[3 + axis], COORDINATE[problem.result]: cell[3 + axis]}
        place = _third(problem, axis, known)
        if place is None or not 0 <= place < lengths[3 + axis]:
            return None
        element.append(place)
    return tuple(element)


def _third(problem: ConvProblem, axis: int, known: dict[str, int]) -> int | None:
    """The coordinate that i = o * stride + f * dilation - left_pad leaves open; None if it is no whole number."""
    stride, dilation, pad = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    if "i" not in known:
        return known["o"] * stride + known["f"] * dilation - pad
    if "o" not in known:
        rest, step = known["i"] + pad - known["f"] * dilation, stride
    else:
        rest, step = known["i"] + pad - known["o"] * stride, dilation
    return rest // step if rest % step == 0 else None


def _distinct_values(problem: ConvProblem, accumulation: Accumulation, other: str, d_range: int) -> int:
    """How many integers from 1 up survive every type on the way: a prime, so that no stride of a layout hits the same
    value again soon."""
    tensors, op = problem.tensors, problem.op
    behind = min(accumulation.exact_range, tensors[problem.result].dtype.exact_integer)
    room = (behind - int(op.beta or 1) * d_range) // int(op.alpha) // product_of_ones(problem)
    factor = problem.multiplicand(other).exact_integer // gain(problem.operation_of(other))
    held = min(tensors[other].dtype.exact_integer, factor, _MOST)
    return _prime_up_to(max(1, min(held, room)))


def _prime_up_to(limit: int) -> int:
    """The largest prime that is not above ``limit``; 1 if there is none."""
    for candidate in range(limit, 1, -1):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            return candidate
    return 1
