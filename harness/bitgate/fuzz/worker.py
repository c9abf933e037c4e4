"""The process that runs cases: a kernel may crash or hang it, and the fuzzing goes on in another one.

It reads jobs from stdin and answers on what was stdout, both pickled. Which case it is at stands in a small shared
file, so that the one that killed it is known.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

from bitgate.errors import UsageError
from bitgate.fuzz.failure import Found, is_failure
from bitgate.fuzz.lane import Lane, lanes
from bitgate.fuzz.shrink import Shrinker
from bitgate.record import Verdict
from bitgate.verify.isolate import verify_isolated
from bitgate.verify.planned import PlannedCase
from bitgate.verify.selection import candidates
from bitgate.verify.session import Session
from bitgate.verify.spine import verify

_POSITION = struct.Struct("<Q")
LENGTH = struct.Struct("<Q")
"""Stands before each answer: how many bytes it has."""

TELL_SECONDS = 0.05
"""How often a worker tells what it has done, so that little is uncounted when it dies."""


@dataclass(frozen=True)
class Setting:
    """What all workers of a run share. ``load``: declarations of a user's kernels."""

    target: str
    kernel: str | None = None
    load: tuple[Path, ...] = ()
    seed: int = 0
    case_seconds: float = 60.0
    shrink_seconds: float = 60.0

    def lanes(self) -> tuple[Lane, ...]:
        """Every instance that the glob names; without one all there are, references among them."""
        if self.kernel is not None:
            return lanes(candidates(self.kernel, {}, self.target, self.load))
        return lanes(candidates("*", {}, self.target, self.load))


@dataclass(frozen=True)
class RoundJob:
    """Cases ``start`` and on of round ``number``, until ``deadline`` (monotonic seconds)."""

    number: int
    start: int
    deadline: float


@dataclass(frozen=True)
class ShrinkJob:
    """``isolated``: each verdict in a process of its own, for cases that end theirs."""

    found: Found
    seconds: float
    isolated: bool = False


@dataclass
class Tally:
    """What was done: cases by outcome and by ``family.instance``."""

    problems: int = 0
    verdicts: int = 0
    compared: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    instances: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict, is_new: bool) -> None:
        self.problems += is_new
        self.verdicts += 1
        self.compared += verdict.compared
        self.outcomes[verdict.outcome.value] += 1
        if verdict.compared:
            self.instances[f"{verdict.key.kernel}.{verdict.key.instance}"] += 1

    def join(self, other: Tally) -> None:
        self.problems += other.problems
        self.verdicts += other.verdicts
        self.compared += other.compared
        self.outcomes += other.outcomes
        self.instances += other.instances


@dataclass(frozen=True)
class RoundDone:
    """``next_case``: where to go on if the deadline cut the round short, else None."""

    number: int
    next_case: int | None
    tally: Tally


class Position:
    """The number of the case that a worker is at, in a file that both sides map."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _POSITION.size)

    @staticmethod
    def create(path: Path) -> Position:
        path.write_bytes(bytes(_POSITION.size))
        return Position(path)

    @property
    def value(self) -> int:
        return int(_POSITION.unpack_from(self._map)[0])

    @value.setter
    def value(self, number: int) -> None:
        _POSITION.pack_into(self._map, 0, number)


def lane_of(turn: tuple[Lane, ...], number: int) -> tuple[Lane, int]:
    """Whose round it is, and the how manieth of that lane."""
    lane = turn[number % len(turn)]
    own = [index for index, other in enumerate(turn) if other is lane]
    return lane, number // len(turn) * len(own) + own.index(number % len(turn))


class Worker:
    """The working side. ``send`` takes an answer to the other side."""

    def __init__(self, setting: Setting, position: Position, answers: BinaryIO) -> None:
        self._setting = setting
        self._position = position
        self._answers = answers
        self._session = Session(setting.target, load=setting.load, progress=_to_stderr)
        self._turn = setting.lanes()

    def prepare(self) -> None:
        """Build and load all libraries. BuildError or LibraryError if one cannot be."""
        for name in dict.fromkeys(lane.family.name for lane in self._turn):
            self._session.library(name)

    def send(self, answer: object) -> None:
        _send(self._answers, answer)

    def round(self, job: RoundJob) -> RoundDone:
        lane, visit = lane_of(self._turn, job.number)
        tally, last, told = Tally(), None, 0.0
        for index, planned in enumerate(lane.cases(self._setting.seed, visit, self._setting.target)):
            if index < job.start:
                continue
            if monotonic() >= job.deadline:
                return RoundDone(job.number, index, tally)
            self._position.value = index
            try:
                verdict = verify(planned, self._session)
            except UsageError as error:
                raise UsageError(f"{planned.case} on {planned.kernel}, fill {planned.fill}: {error}") from None
            tally.add(verdict, planned.problem is not last)
            last = planned.problem
            if monotonic() - told > TELL_SECONDS:
                self.send(tally)
                tally, told = Tally(), monotonic()
            if is_failure(verdict):
                self.send(Found(planned, verdict, monotonic(), lane.name, visit))
        return RoundDone(job.number, None, tally)

    def shrink(self, job: ShrinkJob) -> Any:
        family = self._session.family(job.found.planned.family)
        return Shrinker(self._alone if job.isolated else self._here, family, job.found, job.seconds).run()

    def _here(self, planned: PlannedCase) -> Verdict:
        self._position.value += 1
        return verify(planned, self._session)

    def _alone(self, planned: PlannedCase) -> Verdict:
        self._position.value += 1
        return verify_isolated(planned, self._setting.load, time_limit=self._setting.case_seconds / 2)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the other side's business, which then ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    setting, path = pickle.load(sys.stdin.buffer)
    try:
        worker = Worker(setting, Position(path), answers)
        worker.prepare()
        worker.send("ready")
        while True:
            job = pickle.load(sys.stdin.buffer)
            worker.send(worker.round(job) if isinstance(job, RoundJob) else worker.shrink(job))
    except EOFError:
        return
    except UsageError as error:
        _send(answers, UsageError(str(error)))
    except Exception:
        # No kernel's doing: a case that Python itself cannot do must not pass for a crash of the kernel.
        _send(answers, RuntimeError(traceback.format_exc()))


def _send(answers: BinaryIO, answer: object) -> None:
    data = pickle.dumps(answer)
    answers.write(LENGTH.pack(len(data)) + data)
    answers.flush()


def complete(inbox: bytearray) -> Iterator[Any]:
    """The answers that have arrived as a whole; they leave the inbox."""
    while len(inbox) >= LENGTH.size:
        end = LENGTH.size + LENGTH.unpack_from(inbox)[0]
        if len(inbox) < end:
            return
        yield pickle.loads(inbox[LENGTH.size : end])
        del inbox[:end]
