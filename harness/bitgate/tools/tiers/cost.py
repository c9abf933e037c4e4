"""Seconds of cases on the host, predicted from the launches that declarations state, without a launch.

FLOPs say little of a small case: the host runtime's time goes with the threads that it runs, whether they have work or
not. So a family's cost is a sum of seconds for each case, launch, thread, multiply-add of whole tiles, FLOP and byte,
fitted to a drawn sample (``recording.py``). ``costs.toml`` in the folder of suites holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.toml import read_toml
from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem
from bitgate.model.thread_map import MapLaunch, Steps, ThreadMap

FILE = "costs.toml"
PARTS = ("case", "launch", "thread", "tile", "flop", "byte")
"""The parts of a cost, in the order of the numbers of ``amounts``."""
VERDICT = 0.0035
"""Seconds of processor time of a verdict next to its case's: test, record, messages between processes. It is what warm
smoke of a suite takes more than its start and its cases, over its verdicts."""
UNKNOWN = (0.0025, 2e-5, 1e-7, 2e-11, 2e-10, 5e-9)
"""The costs where none are recorded."""
LOOKS = 12
"""Cells along each axis of a result where steps are looked for: backward data has cells without a sum."""

Costs = Mapping[str, tuple[float, ...]]
"""Seconds of each part, by ``family.operation``."""


@dataclass(frozen=True)
class CostModel:
    """Predicted seconds of cases."""

    costs: Costs = field(default_factory=dict)

    def seconds(self, kernel: Kernel, problem: Problem) -> float:
        """Return the seconds of a case that the kernel takes, without those of a verdict."""
        parts = self.costs.get(subject(kernel, problem), self._typical)
        return sum(cost * amount for cost, amount in zip(parts, amounts(kernel, problem), strict=True))

    @cached_property
    def _typical(self) -> tuple[float, ...]:
        known = tuple(self.costs.values())
        return tuple(median(column) for column in zip(*known, strict=True)) if known else UNKNOWN


def subject(kernel: Kernel, problem: Problem) -> str:
    """Return the name of a family's costs for an operation."""
    return f"{kernel.family.name}.{problem.operation.name}"


def amounts(kernel: Kernel, problem: Problem) -> tuple[float, ...]:
    """Return how much of each part a case takes."""
    launched, threads, tiles = _launched(kernel, problem)
    return 1.0, float(launched), float(threads), float(tiles), float(problem.flops), float(problem.bytes)


def _launched(kernel: Kernel, problem: Problem) -> tuple[int, int, int]:
    """Return launches, threads, and multiply-adds of whole tiles; zeros where the declaration maps no threads.

    Options that limit a grid make its blocks take turns: the threads of production's grid count, if they are more.
    """
    own = kernel.thread_map(problem)
    if own is None:
        return 0, 0, 0
    usual = None if kernel.is_production else Kernel(kernel.family, kernel.instance).thread_map(problem)
    threads = max(_threads(one.launches) for one in (own, usual) if one is not None)
    steps = _steps(own, problem)
    if steps is None:
        return len(own.launches), threads, 0
    instance = kernel.instance
    blocks = sum(prod(one.grid) for one in own.launches if one.threads == instance.block_size)
    each = -(-steps.count // steps.slices)
    return len(own.launches), threads, blocks * each * prod(instance.tile or (1, 1, 1))


def _threads(launches: Sequence[MapLaunch]) -> int:
    return sum(prod(one.grid) * one.threads for one in launches)


def _steps(threads: ThreadMap, problem: Problem) -> Steps | None:
    """Return the steps of the first cell that has any, along the diagonal of the last axes."""
    lengths = problem.tensors[problem.result].lengths
    for at in range(LOOKS):
        cell = tuple(min(at, length - 1) if axis >= 3 else 0 for axis, length in enumerate(lengths))
        found = threads.steps(cell)
        if found is not None:
            return found
    return None


def read_costs(folder: Path) -> CostModel:
    """Return the costs of a folder of suites; typical ones where it has none. UsageError for a damaged file."""
    path = folder / FILE
    if not path.is_file():
        return CostModel()
    document, _ = read_toml(path)
    return CostModel({name: _parts(path, name, value) for name, value in document.items()})


def _parts(path: Path, name: str, value: Any) -> tuple[float, ...]:
    known = isinstance(value, Mapping) and set(value) == set(PARTS)
    if not known or not all(type(one) in (int, float) and 0 <= one < 1e3 for one in value.values()):
        raise UsageError(f"{path}: [{name}]: not seconds of {', '.join(PARTS)}; `bitgate cases --costs` writes them")
    return tuple(float(value[part]) for part in PARTS)
