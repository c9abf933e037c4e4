"""Small integers, such that no result of a law is rounded: both sides of it must then be the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitgate.errors import UsageError
from bitgate.exact.certificate import measure_bound
from bitgate.exact.tensor import HostTensor
from bitgate.operations.convolution import ConvProblem, Pass

Cells = NDArray[np.float64]
"""A tensor in logical order; its values are integers."""

Data = dict[str, Cells]

_ROLES = ("in", "wei", "out")
_RANGES = ((3, 1.0), (2, 1.0), (1, 1.0), (1, 0.5), (1, 0.25), (1, 0.1), (1, 0.03), (1, 0.01))
"""Largest value and share of cells that are not zero, tried in turn."""


def small_data(problem: ConvProblem, seed: int, exact_to: int, directions: Iterable[Pass]) -> Data:
    """``in``, ``wei`` and ``out`` with integers in all three, of which no sum in these passes is beyond
    ``exact_to``. UsageError if none are small enough."""
    for largest, density in _RANGES:
        data = {name: _cells(problem, name, seed, largest, density) for name in _ROLES}
        if all(_bound(replaced(problem, direction), data) <= exact_to for direction in directions):
            return data
    raise UsageError(f"sums of {problem.reduction} products do not stay below {exact_to}: take a smaller problem")


def replaced(problem: ConvProblem, direction: Pass) -> ConvProblem:
    """The same layer in another pass."""
    return problem if problem.direction is direction else replace(problem, direction=direction)


def stored(problem: ConvProblem, data: Data) -> dict[str, HostTensor]:
    """The operands of the problem as they lie in memory."""
    tensors = {}
    for name in problem.operands:
        tensors[name] = HostTensor.empty(problem.tensors[name])
        tensors[name].logical[...] = data[name].astype(problem.tensors[name].dtype.numpy)
    return tensors


def values(cells: NDArray[Any]) -> Cells:
    return np.asarray(cells.astype(np.float64))


def _cells(problem: ConvProblem, name: str, seed: int, largest: int, density: float) -> Cells:
    rng = np.random.default_rng([seed, crc32(name.encode())])
    lengths = problem.tensors[name].lengths
    integers = rng.integers(1, largest + 1, lengths) * rng.choice([-1, 1], lengths)
    return np.where(rng.random(lengths) < density, integers, 0).astype(np.float64)


def _bound(problem: ConvProblem, data: Data) -> int:
    return measure_bound(problem, stored(problem, data)).value
