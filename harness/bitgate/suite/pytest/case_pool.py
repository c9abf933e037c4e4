"""Kernels in several processes side by side, their tests in one: each process is given cases of separate problems
before their tests ask for the verdicts, and tests run in the order in which verdicts come."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.results.record import Verdict
from bitgate.suite.pytest.collecting import planned_test
from bitgate.suite.pytest.leases import Leases
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, CaseRequest, Opening, Say
from bitgate.worker.endable import Endable
from bitgate.worker.pool import WorkerPool

DEEP, LONG = 8, 0.2
"""The number of cases, or of estimated seconds, given to a process ahead: it is not to wait for a test."""

DESCRIPTORS, OTHER_DESCRIPTORS = 8, 128
"""Open files of each process, those that it starts with included; and of all else."""


Expect = Callable[[pytest.Item], "CaseRequest | None"]
"""Returns what a test will ask; None if it asks for no verdict, or that is not known."""


@dataclass(eq=False)
class ItemJob:
    """A test as a job of the pool: its result is the verdict that it is expected to ask for, or what the judge raised;
    None if none is expected."""

    item: pytest.Item
    expect: Expect
    case: CaseRequest | None = None

    def give(self, process: CaseProcess) -> bool:
        self.case = self.case or self.expect(self.item)
        if self.case is not None:
            process.ahead(self.case.planned, self.case.seconds, by=self.case.by)
        return self.case is not None

    def is_lost(self, process: CaseProcess) -> bool:
        return not process.in_line

    def hears(self, process: CaseProcess, silent: bool) -> bool:
        return process.is_ready(silent=silent)

    def take(self, process: CaseProcess) -> Verdict | Exception | None:
        if self.case is None:
            return None
        try:
            return process.verify(self.case.planned, self.case.seconds, by=self.case.by)
        except (UsageError, RuntimeError) as error:
            return error


def _is_full(given: Sequence[ItemJob]) -> bool:
    return len(given) >= DEEP or sum(job.case.planned.seconds for job in given if job.case) > LONG


class CasePool(Endable):
    """The processes of a run as one, for ``Gating``; ``order`` says which test is next.

    ``moved`` is called when ``under_way`` changes.
    """

    def __init__(
        self, openings: Sequence[Opening], expect: Expect, progress: Say, moved: Callable[[], None] = lambda: None
    ) -> None:
        self.processes = [CaseProcess(opening, progress=progress) for opening in openings]
        self._pool = WorkerPool[CaseProcess, ItemJob](self.processes, is_full=_is_full, moved=moved)
        self._expect = expect
        self._verdicts: dict[str, tuple[CaseRequest, Verdict | Exception]] = {}
        self._unforeseen: set[str] = set()
        """Test functions that ask for something else than was expected: nothing is made for the rest of their tests."""
        self.keep_busy = self._pool.fill

    def start(self, opening: Opening) -> None:
        """Let all processes open their target. UsageError if one cannot."""
        for process in self.processes:
            process.opening = replace(opening, environment=process.opening.environment)
            process.start()

    def spawn(self) -> None:
        """Let all processes start, whatever they will have to open. UsageError if one cannot."""
        _make_room(DESCRIPTORS * len(self.processes))
        for process in self.processes:
            process.spawn()

    def prewarm(self, families: Collection[str]) -> None:
        """Let those that were spawned do what can be done before ``start``: see ``CaseProcess.prewarm``."""
        for process in self.processes:
            process.prewarm(families)

    def end(self) -> None:
        self._pool.end()

    def verify(self, planned: PlannedCase, seconds: float, *, by: str) -> Verdict:
        """Return the verdict that came, if it is the one that is asked for; else make one while the caller waits."""
        case, verdict = self._verdicts.pop(planned.test, (None, None))
        if case is not None and not case.is_same(CaseRequest(planned, seconds, by)):
            self._unforeseen.add(_function(planned.test))
            verdict = None
        if isinstance(verdict, Exception):
            raise verdict
        return verdict or self._pool.idlest.verify(planned, seconds, by=by)

    @property
    def under_way(self) -> list[str]:
        """The tests whose kernels run."""
        return [job.item.nodeid for job in self._pool.under_way]

    def order(self, items: Sequence[pytest.Item], *, as_given: bool = False) -> Iterator[pytest.Item]:
        """Yield the tests, each as soon as its verdict is there; those that are dear, with all of their problem, begin
        first, so that no process is left alone with them at the end. ``as_given``: they begin in their order."""
        problems: Sequence[Sequence[pytest.Item]] = [items]
        if len(self.processes) > 1:
            problems = [[item] for item in items] if as_given else by_problem(items)
        for number, problem in enumerate(problems):
            for item in problem:
                self._pool.submit(ItemJob(item, self._expected), number)
        last = ""
        while True:
            self._forget_but(last)
            if (done := self._pool.next()) is None:
                return
            job, verdict = done
            if job.case is not None:
                self._verdicts[job.case.planned.test] = job.case, verdict
            last = job.item.nodeid
            yield job.item

    def _expected(self, item: pytest.Item) -> CaseRequest | None:
        return None if _function(item.nodeid) in self._unforeseen else self._expect(item)

    def _forget_but(self, name: str) -> None:
        """Drop verdicts that earlier tests have not asked for: tests run one after their verdicts. Such a test was
        skipped, and no kernel is to run for the others of its function."""
        for test in [test for test in self._verdicts if test != name]:
            self._unforeseen.add(_function(test))
            del self._verdicts[test]


def _make_room(descriptors: int) -> None:
    """Let this process open that number of files more than it usually may, as far as its user allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(os.listdir("/proc/self/fd")) + descriptors + OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _function(node_id: str) -> str:
    return node_id.partition("[")[0]


def by_problem(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """Group tests by problem: its inputs and references are then made once. The dearest come first, and before them all
    tests that ask for no verdict."""
    problems: dict[str, list[pytest.Item]] = {}
    seconds: dict[str, float] = {"": float("inf")}
    for item in items:
        test = planned_test(item)
        name = test.case if test else ""
        problems.setdefault(name, []).append(item)
        seconds[name] = seconds.get(name, 0.0) + (test.seconds if test else 0.0)
    return [problems[name] for name in sorted(problems, key=lambda name: -seconds[name])]


def environments(leases: Leases, count: int) -> list[dict[str, str]]:
    """Return the environment of each process: a separate GPU, where there are some; its share of the threads."""
    threads = str(max(1, paths.threads() // count))
    lent = [leases.lend(str(number)) for number in range(count)]
    return [{**os.environ, "BITGATE_THREADS": threads, **({name: token} if name else {})} for name, token in lent]
