"""Small integers, such that no result of a law is rounded: both sides of it must then be the same bits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.model.law import Cells, Data
from bitgate.numerics.certificate import measure_bound

_RANGES = ((3, 1.0), (2, 1.0), (1, 1.0), (1, 0.5), (1, 0.25), (1, 0.1), (1, 0.03), (1, 0.01))
"""Largest value and share of cells that are not zero, tried one after the other."""


def small_data(problem: Problem, seed: int, exact_to: int, problems: Iterable[Problem]) -> Data:
    """Return integers for all tensors of the problem, such that no sum in any of these problems exceeds ``exact_to``.

    All problems have the same tensors. Raises UsageError if no data are small enough.
    """
    for largest, density in _RANGES:
        data = {name: _cells(problem, name, seed, largest, density) for name in problem.tensors}
        if all(measure_bound(one, stored(one, data)).value <= exact_to for one in problems):
            return data
    terms = problem.operation.numerics.terms(problem)
    raise UsageError(f"sums of {terms} products do not stay below {exact_to}: take a smaller problem")


def stored(problem: Problem, data: Data) -> dict[str, HostTensor]:
    """Return the operands of the problem in their memory layout."""
    tensors = {}
    for name in problem.operation.numerics.operands(problem):
        tensors[name] = HostTensor.empty(problem.tensors[name])
        tensors[name].logical[...] = data[name].astype(problem.tensors[name].dtype.numpy)
    return tensors


def values(cells: NDArray[Any]) -> Cells:
    return np.asarray(cells.astype(np.float64))


def _cells(problem: Problem, name: str, seed: int, largest: int, density: float) -> Cells:
    rng = np.random.default_rng([seed, crc32(name.encode())])
    lengths = problem.tensors[name].lengths
    integers = rng.integers(1, largest + 1, lengths) * rng.choice([-1, 1], lengths)
    return np.where(rng.random(lengths) < density, integers, 0).astype(np.float64)
