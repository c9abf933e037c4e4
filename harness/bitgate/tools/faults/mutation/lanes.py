"""Several processes of kernels side by side, each with a job that asks for one verdict after the other.

All of them are served by one thread, so that Ctrl-C meets nothing half done.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.kernel.build import overlay as overlays
from bitgate.results.record import Verdict
from bitgate.tools.faults.mutation.schema import GUEST, OFF
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.worker.child import WorkerDied

LOOK_SECONDS = 0.5
SWITCH_SECONDS = 300.0
"""A library is loaded at the first turn of its switch."""


@dataclass(frozen=True)
class MutantCase:
    """A case, the judge that its test names, and the seconds that it may take."""

    planned: PlannedCase
    by: str
    seconds: float


Asking = Generator[MutantCase, Verdict, "Answer"]
Answer = TypeVar("Answer")


@dataclass(eq=False)
class Lane:
    """A process, and since when it is the same one."""

    process: CaseProcess
    switch: int = OFF
    used_in: int = 0
    """The number of the process that mutants have run in."""
    _mutants: set[int] = field(default_factory=set)

    def turn(self, planned: PlannedCase, to: int) -> None:
        """Before a case. A process that died over it is replaced, and asked again."""
        family, instance, _ = planned.kernel.names
        try:
            self._call("turn", family=family, instance=instance, to=to)
        except WorkerDied:
            self._call("turn", family=family, instance=instance, to=to)
        if self.process.number != self.used_in:
            self.used_in, self._mutants = self.process.number, set()
        if to > OFF:
            self._mutants.add(to)

    def reached(self, planned: PlannedCase) -> list[int]:
        family, instance, _ = planned.kernel.names
        found: list[int] = self._call("reached", family=family, instance=instance)
        return found

    @property
    def is_shared(self) -> bool:
        """Has the process run other mutants, which may have left something behind?"""
        return len(self._mutants) > 1

    def renew(self) -> None:
        self.process.end()

    def _call(self, do: str, **arguments: object) -> list[int]:
        try:
            answer: list[int] = self.process.call(GUEST, do, arguments, SWITCH_SECONDS)
        except WorkerDied as ended:
            if do == "reached":
                raise UsageError(f"the process of kernels ended with no mutant on: {ended.reason}") from None
            raise
        return answer


@dataclass
class _Running(Generic[Answer]):
    asking: Generator[MutantCase, Verdict, Answer]
    question: MutantCase


@contextmanager
def open_lanes(
    opening: Opening, count: int, overlay: Mapping[str, Path], say: Callable[[str], None]
) -> Iterator[list[Lane]]:
    """With an ``overlay`` they build as for seeded defects, so that they find what was built before."""
    environment = {**os.environ, "BITGATE_THREADS": str(max(1, paths.threads() // count))}
    if overlay:
        environment[overlays.QUICK] = "1"
    own = replace(opening, overlay=overlay, environment=environment)
    lanes = [Lane(CaseProcess(own, progress=say, output=_silent)) for _ in range(count)]
    try:
        yield lanes
    finally:
        for lane in lanes:
            lane.process.end()


def drive(
    lanes: Sequence[Lane], jobs: Iterable[Callable[[Lane], Generator[MutantCase, Verdict, Answer]]]
) -> Iterator[Answer]:
    """What each job comes to, as they end."""
    waiting, busy = deque(jobs), dict[Lane, "_Running[Answer]"]()
    while waiting or busy:
        for lane in lanes:
            while lane not in busy and waiting:
                asking = waiting.popleft()(lane)
                try:
                    _put(lane, asking, next(asking), busy)
                except StopIteration as end:
                    yield end.value
        if not busy:
            continue
        lane = _first_ready(list(busy))
        running = busy.pop(lane)
        question = running.question
        verdict = lane.process.verify(question.planned, question.seconds, by=question.by)
        try:
            _put(lane, running.asking, running.asking.send(verdict), busy)
        except StopIteration as end:
            yield end.value


def _put(
    lane: Lane,
    asking: Generator[MutantCase, Verdict, Answer],
    question: MutantCase,
    busy: dict[Lane, _Running[Answer]],
) -> None:
    lane.process.ahead(question.planned, question.seconds, by=question.by)
    busy[lane] = _Running(asking, question)


def _first_ready(lanes: Sequence[Lane]) -> Lane:
    silent = False
    while True:
        for lane in lanes:
            if lane.process.is_ready(silent=silent):
                return lane
        bells = select.poll()
        for lane in lanes:
            bells.register(lane.process.bell, select.POLLIN)
        silent = not bells.poll(1000 * LOOK_SECONDS)


def _silent(_: bytes) -> None:
    """What mutants print is of no use."""
