"""Kernels in several processes side by side, their tests in one: each process is given cases of problems of its own
before their tests ask for the verdicts, and tests run in the order in which verdicts come."""

from __future__ import annotations

import os
import resource
import select
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.results.record import Verdict
from bitgate.suite.pytest.collecting import planned_test
from bitgate.suite.pytest.leases import Leases
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening, Say
from bitgate.verify.server import to_json
from bitgate.worker.child import LOOK_SECONDS
from bitgate.worker.endable import Endable

DEEP, LONG = 8, 0.2
"""So many cases, or so many estimated seconds, are given to a process ahead: it is not to wait for a test."""


DESCRIPTORS, OTHER_DESCRIPTORS = 8, 128
"""Open files: of each process, those that it starts with included; and of all else."""


@dataclass(frozen=True)
class ExpectedCase:
    """What the test behind ``item`` will ask."""

    item: pytest.Item
    planned: PlannedCase
    seconds: float
    by: str


Expect = Callable[[pytest.Item], "ExpectedCase | None"]
"""What a test will ask; None if it asks for no verdict, or nobody knows."""


@dataclass(eq=False)
class Lane:
    """A process, the questions that it was given, and the tests of its problem that come next."""

    process: CaseProcess
    given: deque[ExpectedCase] = field(default_factory=deque)
    coming: deque[pytest.Item] = field(default_factory=deque)

    @property
    def is_full(self) -> bool:
        return len(self.given) >= DEEP or sum(question.planned.seconds for question in self.given) > LONG

    def give(self, question: ExpectedCase) -> None:
        self.given.append(question)
        self.process.ahead(question.planned, question.seconds, by=question.by)

    def give_again(self) -> None:
        """A process that was replaced knows nothing of what its predecessor was given."""
        if self.given and not self.process.in_line:
            for question in self.given:
                self.process.ahead(question.planned, question.seconds, by=question.by)


class Lanes(Endable):
    """The processes of a run as one, for ``Gating``; ``order`` says which test is next."""

    def __init__(
        self, openings: Sequence[Opening], expect: Expect, progress: Say, moved: Callable[[], None] = lambda: None
    ) -> None:
        self._lanes = [Lane(CaseProcess(opening, progress=progress)) for opening in openings]
        self._expect = expect
        self._moved = moved
        """Is told when ``under_way`` changes."""
        self._problems: deque[deque[pytest.Item]] = deque()
        self._silent: deque[pytest.Item] = deque()
        """Tests that need no verdict to run."""
        self._verdicts: dict[str, tuple[ExpectedCase, Verdict | Exception]] = {}
        self._unforeseen: set[str] = set()
        """Test functions that ask for something else than was expected: nothing is made for the rest of their tests."""

    def start(self, opening: Opening) -> None:
        """Let all processes open their target. UsageError if one cannot."""
        for lane in self._lanes:
            lane.process.opening = replace(opening, environment=lane.process.opening.environment)
            lane.process.start()

    def spawn(self) -> None:
        """Let all processes come up, whatever they will have to open. UsageError if one cannot."""
        _make_room(DESCRIPTORS * len(self._lanes))
        for lane in self._lanes:
            lane.process.spawn()

    def come_up(self, families: Collection[str]) -> None:
        """Let those that were spawned do what can be done before ``start``: see ``CaseProcess.come_up``."""
        for lane in self._lanes:
            lane.process.come_up(families)

    @property
    def processes(self) -> list[CaseProcess]:
        return [lane.process for lane in self._lanes]

    def end(self) -> None:
        for process in self.processes:
            process.end()

    def verify(self, planned: PlannedCase, seconds: float, *, by: str) -> Verdict:
        """The verdict that came, if it is the one that is asked for; else one is made while the caller waits."""
        question, verdict = self._verdicts.pop(planned.test, (None, None))
        if question is None or verdict is None:
            return self._idlest.process.verify(planned, seconds, by=by)
        if question.by != by or not _is_same(question.planned, planned):
            self._unforeseen.add(_function(planned.test))
            return self._idlest.process.verify(planned, seconds, by=by)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    @property
    def under_way(self) -> list[str]:
        """The tests whose kernels run."""
        return [lane.given[0].item.nodeid for lane in self._lanes if lane.given]

    @property
    def _idlest(self) -> Lane:
        return min(self._lanes, key=lambda lane: len(lane.given))

    def order(self, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        """The tests, each as soon as its verdict is there; those that are dear, with all of their problem, begin first,
        so that no process is left alone with them at the end."""
        self._problems = deque(by_problem(items) if len(self._lanes) > 1 else [deque(items)])
        last = ""
        while True:
            self._forget_but(last)
            self.keep_busy()
            if self._silent:
                item = self._silent.popleft()
            elif busy := [lane for lane in self._lanes if lane.given]:
                item = self._next_of(busy)
            else:
                return
            last = item.nodeid
            yield item

    def _forget_but(self, name: str) -> None:
        """Tests run one behind their verdicts. What an earlier one has not asked for it does not want: it was skipped,
        and no kernel is to run for its like."""
        for test in [test for test in self._verdicts if test != name]:
            self._unforeseen.add(_function(test))
            del self._verdicts[test]

    def keep_busy(self) -> None:
        """Give each process what it is to do next."""
        for lane in self._lanes:
            lane.give_again()
            while not lane.is_full and (item := self._coming(lane)) is not None:
                question = None if _function(item.nodeid) in self._unforeseen else self._expect(item)
                if question is None:
                    self._silent.append(item)
                else:
                    lane.give(question)
                    if len(lane.given) == 1:
                        self._moved()

    def _coming(self, lane: Lane) -> pytest.Item | None:
        if not lane.coming and self._problems:
            lane.coming = self._problems.popleft()
        return lane.coming.popleft() if lane.coming else None

    def _next_of(self, busy: Sequence[Lane]) -> pytest.Item:
        lane = _first_ready(busy)
        question = lane.given.popleft()
        try:
            verdict: Verdict | Exception = lane.process.verify(question.planned, question.seconds, by=question.by)
        except (UsageError, RuntimeError) as error:
            verdict = error
        self._moved()
        self._verdicts[question.planned.test] = question, verdict
        return question.item


def _first_ready(lanes: Sequence[Lane]) -> Lane:
    """The one whose verdict has come, or is not coming by itself. Of several the one with the fewest tests behind it:
    it is the first to run dry."""
    silent = False
    while True:
        ready = [lane for lane in lanes if lane.process.is_ready(silent=silent)]
        if ready:
            return min(ready, key=lambda lane: len(lane.given))
        bells = select.poll()  # descriptors of many processes are beyond what select() takes
        for lane in lanes:
            bells.register(lane.process.bell, select.POLLIN)
        silent = not bells.poll(1000 * LOOK_SECONDS)


def _make_room(descriptors: int) -> None:
    """Let this process open so many files more than it usually may, as far as its user allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(os.listdir("/proc/self/fd")) + descriptors + OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _is_same(one: PlannedCase, other: PlannedCase) -> bool:
    return one is other or to_json(one) == to_json(other)


def _function(node_id: str) -> str:
    return node_id.partition("[")[0]


def by_problem(items: Sequence[pytest.Item]) -> list[deque[pytest.Item]]:
    """Tests of one problem together: its inputs and references are then made once. The dearest come first, and before
    them all tests that ask for no verdict."""
    problems: dict[str, deque[pytest.Item]] = {}
    seconds: dict[str, float] = {"": float("inf")}
    for item in items:
        test = planned_test(item)
        name = test.case if test else ""
        problems.setdefault(name, deque()).append(item)
        seconds[name] = seconds.get(name, 0.0) + (test.seconds if test else 0.0)
    return [problems[name] for name in sorted(problems, key=lambda name: -seconds[name])]


def environments(leases: Leases, count: int) -> list[dict[str, str]]:
    """Of each process: its own GPU, where there are some; its share of the threads."""
    threads = str(max(1, paths.threads() // count))
    lent = [leases.lend(str(number)) for number in range(count)]
    return [{**os.environ, "BITGATE_THREADS": threads, **({name: token} if name else {})} for name, token in lent]
