"""What was measured of a problem, as the reports of other programs print it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class TimedKernel:
    """One kernel on one problem.

    ``seconds``: device seconds a launch, a sample each; without any ``reason`` says why. ``refused``: the problem is
    none of the kernel's. ``verified``: by what it was held to be right (CPU, GPU), empty where it was not. ``line``:
    the problem as its program's line has it.
    """

    problem: Any
    kernel: str
    seconds: tuple[float, ...] = ()
    refused: bool = False
    reason: str = ""
    verified: str = ""
    line: str = ""
    on_cpu: bool = False

    @property
    def milliseconds(self) -> float:
        """The mean, which is what these programs print."""
        return sum(self.seconds) / len(self.seconds) * 1e3

    @property
    def tflops(self) -> float:
        return float(self.problem.flops) / 1e9 / self.milliseconds

    @property
    def gigabytes(self) -> float:
        """GB/s, each tensor moved once."""
        return float(self.problem.bytes) / 1e6 / self.milliseconds


def perf_words(measured: TimedKernel, width: int = 0) -> str:
    """``Perf: 1.40031 ms, 69.8734 TFlops, 179.037 GB/s``, the time in at least ``width`` places."""
    milliseconds = f"{measured.milliseconds:g}".rjust(width)
    return f"Perf: {milliseconds} ms, {measured.tflops:g} TFlops, {measured.gigabytes:g} GB/s"


def fastest(measured: Iterable[TimedKernel]) -> TimedKernel | None:
    timed = [one for one in measured if one.seconds]
    return max(timed, key=lambda one: one.tflops, default=None)


def by_problem(measured: Sequence[TimedKernel]) -> Iterator[tuple[Any, list[TimedKernel]]]:
    """What stands side by side for each problem, in the order in which the problems first come."""
    numbers: dict[Any, int] = {}
    for one in measured:
        numbers.setdefault(one.problem, len(numbers))
    ordered = sorted(measured, key=lambda one: numbers[one.problem])
    for problem, group in groupby(ordered, key=lambda one: one.problem):
        yield problem, list(group)
