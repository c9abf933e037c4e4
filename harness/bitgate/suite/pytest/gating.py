"""The gate: verifies a planned case, puts its verdict on the record, and fails the test if it is red."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from bitgate.core.untrusted import message
from bitgate.kernel.build.overlay import quick_build
from bitgate.kernel.declared import is_own
from bitgate.results.blackbox import BlackBox
from bitgate.results.record import Diagnosis, Key, Outcome, Verdict, append
from bitgate.results.report.result import cell_lines, extent_line, sentence_of
from bitgate.suite.planning import is_ours, row_of
from bitgate.suite.pytest.collecting import PARAMETER, planned_test
from bitgate.suite.pytest.dispatch_assertion import assert_dispatch
from bitgate.suite.pytest.own_fixtures import OwnFixtures
from bitgate.suite.pytest.probe_gate import ProbeGate
from bitgate.suite.pytest.record import build, stand_in
from bitgate.suite.pytest.run import BROKEN, RunEnd, TestRun, as_pytest_error, progress
from bitgate.suite.pytest.watchdog import Watchdog
from bitgate.suite.row import CaseRow
from bitgate.verify.planned import PlannedCase
from bitgate.worker.endable import Endable, Leaving

if TYPE_CHECKING:  # the first verdict brings it in, not each collection
    from bitgate.suite.pytest.case_pool import CasePool
    from bitgate.verify.process import CaseRequest

HUNG_STATUS = 86
"""A worker that ends itself because a case hung."""

Judge = Callable[[PlannedCase, Any], Verdict]
"""From a planned case and a Session to its verdict; a function of a module that can be imported, since it is called
in the process that kernels run in."""

VERDICTS = pytest.StashKey[list[Verdict]]()
RECORDED = pytest.StashKey[int]()
"""How many of them are on the record."""

LAST_TEST_SECONDS = 2.0
"""Time after a Ctrl-C for a test with a verdict to put it on the record."""

MAY_NOT_RUN = ("skip", "skipif", "xfail")
"""Marks of tests whose kernels may be kept from running: they do not begin ahead."""

FORMER_FIXTURES = {"gate": "check", "took": "expect_dispatch"}
"""Former name of a fixture -> its name of today."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """KeyboardInterrupt in what takes longer. For the main thread."""
    late = threading.Timer(seconds, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def preparing(items: Iterator[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield items while importing what the end of the run needs, as long as kernel processes are busy."""
    yield from islice(items, 1)
    import_module("bitgate.results.report.render")
    yield from items


class Gating:
    """Fixtures of a planned test, and the recording around it."""

    def __init__(self, run: TestRun) -> None:
        self.run = run
        self.box = BlackBox(run.folder, run.worker)
        self.probe_gate = ProbeGate(run)
        self.watchdog = Watchdog(self._hung)
        self.built: set[tuple[str, str]] = set()
        # Known without pytest's ``request``, which costs a small case's time for each fixture that asks for it.
        self.item: pytest.Item
        self.next: pytest.Item | None = None
        """The test that runs, and the next one."""
        self._asked: dict[str, PlannedCase] = {}
        """The cases of tests that run, or that were given to a process ahead: one object each, which knows what it
        has computed of itself."""
        self.pool: CasePool | None = None
        self._makers: dict[str, Callable[[PlannedCase], Any]] = {
            "planned": self._planned,
            "row": row_of,
            "check": self._check,
            "expect_dispatch": self._expect_dispatch,
            **{old: getattr(self, f"_{new}") for old, new in FORMER_FIXTURES.items()},
        }
        self._ours = OwnFixtures(self, self._makers)
        self._warned: set[tuple[object, str]] = set()
        self._broken: dict[str, Key] = {}
        """The first case of each build that failed."""
        self.leaving: Leaving | None = None
        """The processes of kernels, on their way out."""
        self.here: list[str] = []
        """Node ids of what else is under way."""
        self.recording = threading.Lock()
        """Held by what puts verdicts on the record; for ever once a test is found to hang, which ends the process."""
        self.recorded: tuple[str, Verdict] | None = None
        """The test with the latest line of the record, and its verdict."""
        self.asking = threading.Lock()
        """A test may ask from its threads: a kernel process takes one request at a time."""

    @pytest.fixture
    def planned(self, bitgate_test: PlannedCase) -> PlannedCase:
        """The planned case of this test."""
        return self._planned(bitgate_test)

    @pytest.fixture
    def row(self, bitgate_test: PlannedCase) -> CaseRow:
        """The table's row of the planned case."""
        return row_of(bitgate_test)

    @pytest.fixture
    def check(self, bitgate_test: PlannedCase) -> Callable[..., Verdict]:
        """Function ``check(planned)`` that returns the Verdict of the case; the test fails in it if that is red.

        ``check(planned, by=judge)`` asks another judge than ``verify``.
        """

        return self._check(bitgate_test)

    @pytest.fixture
    def expect_dispatch(self, bitgate_test: PlannedCase) -> Callable[..., None]:
        """Function ``expect_dispatch(verdict, launches=1)`` that fails unless the record agrees, and the row.

        bitgate's rows and tests know how bitgate's own kernels come to their bits; a loaded kernel has other
        ways, of which the bits alone are checked. A user's rows hold any kernel.
        """

        return self._expect_dispatch(bitgate_test)

    @pytest.fixture
    def gate(self, bitgate_test: PlannedCase) -> Callable[..., Verdict]:
        """The former name of ``check``."""
        return self._check(bitgate_test)

    @pytest.fixture
    def took(self, bitgate_test: PlannedCase) -> Callable[..., None]:
        """The former name of ``expect_dispatch``."""
        return self._expect_dispatch(bitgate_test)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Give a test the fixtures that it asks of us without pytest's machinery, which costs more than a small case.

        Pytest makes a definition, a request and a finalizer for each fixture of each test.
        """
        test = planned_test(item)
        if test is not None and isinstance(item, pytest.Function):
            item.funcargs[PARAMETER] = test
            for name in self._ours.among(item):
                item.funcargs[name] = self._makers[name](test)
                if name in FORMER_FIXTURES:
                    self._warn(item, name)

    def _warn(self, item: pytest.Function, name: str) -> None:
        """Once for each test function that asks for a fixture by its former name."""
        if (item.function, name) not in self._warned:
            self._warned.add((item.function, name))
            what = f"the fixture '{name}' is '{FORMER_FIXTURES[name]}' now; the former name goes with 0.3"
            item.warn(pytest.PytestDeprecationWarning(what))

    def _planned(self, test: PlannedCase) -> PlannedCase:
        return self._of_test(test, self.item.nodeid)

    def _check(self, test: PlannedCase) -> Callable[..., Verdict]:
        item = self.item

        def _check(planned: PlannedCase, by: Judge | None = None) -> Verdict:
            __tracebackhide__ = True
            verdict = self._verdict(planned, test, item.nodeid, by)
            item.stash.setdefault(VERDICTS, []).append(verdict)
            if verdict.outcome is Outcome.NOT_RUN and (verdict.green or self.probe_gate.obstacle(test)):
                pytest.skip(verdict.reason)  # expected; or the probe that is red has failed, and one line is enough
            if verdict.outcome is Outcome.KNOWN_BUG:
                pytest.skip(f"KNOWN_BUG: {verdict.reason}")
            if not verdict.green:
                pytest.fail(self._explained(verdict), pytrace=False)
            return verdict

        return _check

    def _explained(self, verdict: Verdict) -> str:
        """Return what a person needs of a red verdict; one line where the same build has failed before."""
        if verdict.outcome is not Outcome.BUILD_FAILED:
            return in_words(verdict)
        first = self._broken.setdefault(verdict.reason, verdict.key)
        if first == verdict.key:
            return in_words(verdict)
        return f"{verdict.outcome}: {verdict.human}\n  the build of {first.kernel} failed, as {first.case} says"

    def _expect_dispatch(self, test: PlannedCase) -> Callable[..., None]:
        def _expect_dispatch(verdict: Verdict, **stated: Any) -> None:
            family = self.run.setting.families.get(verdict.key.kernel)
            if not is_ours(row_of(test)) or (family is not None and is_own(family)):
                assert_dispatch(verdict, row_of(test), stated)

        return _expect_dispatch

    def _verdict(self, planned: PlannedCase, test: PlannedCase, node_id: str, by: Judge | None) -> Verdict:
        if test.no_kernel:
            return stand_in(self.run, test, node_id, Outcome.NOT_RUN, test.no_kernel)
        if obstacle := self.probe_gate.obstacle(test):
            return stand_in(self.run, test, node_id, Outcome.NOT_RUN, obstacle)
        return self.run.placed(self._judged(planned, test, by), test, node_id)

    def _judged(self, planned: PlannedCase, test: PlannedCase, by: Judge | None) -> Verdict:
        with self.asking, self.watchdog.resting():  # the deadline of a kernel is kept by the owner of its process
            from bitgate.verify.process import BITS  # in here: the first case has no less time than the others

            kernels = self.pool or self.run.kernels
            verdict = kernels.verify(planned, self.run.patience(test), by=_name_of(by) or BITS)
            if self.pool is not None:
                self.pool.keep_busy()
                return verdict
            following = self.next
            case = None if following is None else self._expected(following)
            if following and case and self.run.kernels.ahead(case.planned, case.seconds, by=case.by):
                self._note_under_way(self.item, following)
            return verdict

    def _expected(self, item: pytest.Item) -> CaseRequest | None:
        """Return what a coming test will ask; None if that is not known."""
        from bitgate.verify.process import BITS, CaseRequest

        test = planned_test(item)
        if test is None or test.no_kernel or self.run.is_probe(test) or self.probe_gate.obstacle(test):
            return None
        if any(mark.name in MAY_NOT_RUN for mark in item.iter_markers()):
            return None
        planned = self._of_test(test, item.nodeid)
        return CaseRequest(planned, self.run.patience(test), _name_of(_judge_of(item)) or BITS)

    def _of_test(self, test: PlannedCase, node_id: str) -> PlannedCase:
        if node_id not in self._asked:
            self._asked[node_id] = test.for_test(node_id, node_id in self.run.repeated)
        return self._asked[node_id]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """No test asks any more. A GPU's driver takes its time over the end of a process: meanwhile reports are
        written."""
        self.leaving = Leaving(self._processes)

    @property
    def _processes(self) -> list[Endable]:
        own: list[Endable] = [self.run.kernels] if "kernels" in vars(self.run) else []
        return own + ([*self.pool.processes] if self.pool is not None else [])

    def pytest_unconfigure(self) -> None:
        if self.leaving is not None:
            self.leaving.end()
        for process in self._processes:
            process.end()
        if self.box.is_open:
            self.box.remove()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Processes come up while tests are collected."""
        if not self.run.processes or session.config.option.collectonly:
            return
        from bitgate.suite.pytest.case_pool import CasePool, environments
        from bitgate.suite.pytest.leases import Leases

        own = environments(Leases(self.run.target), self.run.processes)
        openings = [replace(self.run.opening, environment=environment) for environment in own]
        self.pool = CasePool(openings, self._expected, progress, self._write_box)
        with as_pytest_error():
            self.pool.spawn()
        self.pool.prewarm(self.run.first_families)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run tests as their verdicts come, with kernels in several processes; else leave the loop to pytest."""
        failed = session.testsfailed and not session.config.option.continue_on_collection_errors
        if self.pool is None or failed:
            return None
        with as_pytest_error():
            self.pool.start(self.run.opening)
        items = session.items
        probes = [item for item in items if (test := planned_test(item)) is not None and self.run.is_probe(test)]
        self._run_tests(session, iter(probes))
        others = set(probes)
        rest = [item for item in items if item not in others]
        self._run_tests(session, preparing(self.pool.order(rest, as_given=self.run.shuffle is not None)))
        return True

    def _run_tests(self, session: pytest.Session, items: Iterator[pytest.Item]) -> None:
        """Run the items as pytest's loop does: each test knows the next, whose fixtures it leaves alone."""
        item = next(items, None)
        while item is not None:
            try:
                with self.asking:  # a thread may have outlived its test
                    following = next(items, None)
            except KeyboardInterrupt:  # its own verdict is there
                with interrupted_after(LAST_TEST_SECONDS):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                raise
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            item = following

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        test = planned_test(item)
        self.item, self.next = item, nextitem
        if test is None:
            return (yield)
        if not self.run.is_probe(test):
            self.probe_gate.wait()
        if not self.run.builds_ahead:
            self._build(test)
        self._note_under_way(item)
        try:
            with self.watchdog.watching(item.nodeid, self.run.patience(test)):
                return (yield)
        finally:
            self._note_under_way()
            self._asked.pop(item.nodeid, None)

    def _note_under_way(self, *items: pytest.Item) -> None:
        """Record the tests under way: the one here, and that of each process whose kernel has begun."""
        self.here = [item.nodeid for item in items]
        self._write_box()

    def _write_box(self) -> None:
        with suppress(OSError):  # on a full disk the record says so
            self.box.write([*self.here, *(self.pool.under_way if self.pool else ())])

    def _build(self, planned: PlannedCase) -> None:
        """Before the first case of the family, and not in its time. For a seeded defect before the first of each of its
        groups: most are found by the first, and the others then need not be built."""
        family, group = planned.key.kernel, planned.kernel.instance.group if quick_build() else ""
        if (family, group) not in self.built:
            self.built.add((family, group))
            with as_pytest_error():
                build(self.run, (family,), group)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        test = planned_test(item)
        if test is not None and (call.when != "setup" or not report.passed):
            try:
                with self.recording:
                    self._record(item, test, report)
            except OSError as error:  # a verdict that cannot be recorded is none, and the next would fare no better
                report.outcome, report.longrepr = "failed", str(error)
                item.session.shouldstop = self.run.broken = str(error)
                getattr(item.config, "workeroutput", {})[BROKEN] = str(error)
        return report

    def _record(self, item: pytest.Item, test: PlannedCase, report: pytest.TestReport) -> None:
        """Record a verdict with what the rest of its test found: the record and pytest never disagree.

        Each is recorded once, also of a test that another plugin runs again; later failures are added.
        """
        verdicts = item.stash.setdefault(VERDICTS, [])
        recorded = item.stash.get(RECORDED, 0)
        fresh = verdicts[recorded:]
        if report.failed and not fresh and report.when != "teardown":
            reason = f"the test ended before a verdict: {first_line(report)}"
            fresh = [stand_in(self.run, test, item.nodeid, Outcome.INFRA, reason)]
        elif report.failed and all(verdict.green for verdict in fresh or verdicts[-1:]):
            name = item.name.partition("[")[0]
            fresh[-1:] = [contradicted(one, name, first_line(report)) for one in fresh[-1:] or verdicts[-1:]]
        verdicts[recorded:] = fresh
        for verdict in fresh:
            append(self.run.results, verdict)
            self.recorded = item.nodeid, verdict
        item.stash[RECORDED] = len(verdicts)

    def _hung(self, node_id: str) -> None:
        """Record a hung test, and end: nothing in this process can stop a kernel. xdist replaces a worker.

        A test that hangs after its verdict has one already, which says more; what it does now is added.
        """
        self.recording.acquire()
        try:
            self._record_hung(node_id)
        except Exception:
            traceback.print_exc()
        finally:  # without a verdict the case is recorded as one whose process died
            os._exit(HUNG_STATUS if self.run.is_worker else 1)

    def _record_hung(self, node_id: str) -> None:
        test = self.run.tests[node_id]
        stacks = self.run.folder / f"hung-{self.run.worker}.txt"
        with stacks.open("w") as stream:
            faulthandler.dump_traceback(stream)
        reason = f"no verdict within {self.run.patience(test):g} s; {stacks} shows where every thread stood"
        if self.recorded is None or self.recorded[0] != node_id:
            append(self.run.results, stand_in(self.run, test, node_id, Outcome.HUNG, reason))
        elif self.recorded[1].green:
            append(self.run.results, contradicted(self.recorded[1], node_id.partition("[")[0], reason))
        self.box.clear()
        if not self.run.is_worker:
            self.run.ended = RunEnd.STOPPED
            self.run.write_reports()


def _judge_of(item: pytest.Item) -> Judge | None:
    """Return the judge of a test that ``verified`` made; another test may name one that is not known before."""
    return getattr(getattr(item, "function", None), "by", None)


def _name_of(judge: Judge | None) -> str:
    return f"{judge.__module__}:{judge.__qualname__}" if judge else ""


def in_words(verdict: Verdict) -> str:
    """Return what a person needs of a red verdict."""
    lines = [f"{verdict.outcome}: {verdict.human}", f"  kernel  {verdict.key.name}"]
    said = message(sentence_of(verdict))
    lines += [f"  {said}"] if said else []
    lines += [f"  {extent}"] if (extent := extent_line(verdict)) else []
    lines += [f"    {cell}" for cell in cell_lines(verdict)]
    lines += [f"    {line}" for line in _drawn(verdict)]
    lines += [f"  repro   {verdict.repro}"] if verdict.repro else []
    lines += [f"  same as {verdict.foreign}"] if verdict.foreign else []
    return "\n".join(lines)


def _drawn(verdict: Verdict) -> list[str]:
    if not verdict.view:
        return []
    from bitgate.results.report.page.characters import heat_map

    return heat_map(verdict.view, sys.stdout.encoding)


def contradicted(verdict: Verdict, test: str, said: str) -> Verdict:
    """Right bits, yet the test found fault: a wrong path, or the wrong clause."""
    sentence = f"the verdict alone was {verdict.outcome}, but {test} failed: {said}"
    diagnosis = Diagnosis(("other",), sentence)
    return replace(verdict, outcome=Outcome.MISMATCH, expected=False, reason=sentence, diagnosis=diagnosis)


def first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longrepr).strip()
    return text.splitlines()[0] if text else "no message"
