"""A night: the shards of a run plan, each run until it has its answers or running again makes no sense.

The whole state of a night is in its folder, so that a controller may die at any moment and another goes on:

    night.jsonl                         the journal (bitgate.lab.ci.journal)
    plan.json                           what must end with a verdict
    shards/<target>/s<i>of<n>/a<k>/     the k-th attempt at a shard: its task, log, end, and below them its record
    merged/                             the report
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from bitgate.core.errors import UsageError
from bitgate.core.project_file import find
from bitgate.lab.ci import task as tasks
from bitgate.lab.ci.attempts import MATRIX, PLAN, SHARDS, asked_of, folder_of, name_of, record_of, task_of
from bitgate.lab.ci.culprit import convict
from bitgate.lab.ci.journal import (
    Attempt,
    AttemptEnded,
    AttemptSubmitted,
    Journal,
    NightFinished,
    NightPlanned,
    Place,
    Progress,
    ShardSettled,
)
from bitgate.lab.ci.matrix import NightExpectation, expected_of
from bitgate.lab.ci.retry import AttemptHistory, Decision, Health, cases_of, decide, format_status, part, unanswered
from bitgate.lab.ci.screen import Screen
from bitgate.lab.ci.view import OutcomeTally, case_of, view_of
from bitgate.lab.executors.executor import Executor, TaskState, TaskStatus
from bitgate.results.blackbox import left_behind
from bitgate.results.report.findings import MissingTarget, RunFinding
from bitgate.results.report.junit_dialect import dialect_named
from bitgate.results.report.render import merge
from bitgate.results.report.summary import Summary
from bitgate.results.run_plan import RunPlan
from bitgate.results.shard import Shard

MERGED, LOCK = "merged", ".lock"

SOONEST_SECONDS, LATEST_SECONDS = 0.2, 15.0
SHARE = 0.05
"""Interval of polling an engine, as a share of the time since anything changed."""


def lock(folder: Path) -> FileLock:
    """Lock the night until this process ends.

    Raises UsageError if another controller holds the lock, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file_lock = FileLock(folder / LOCK)
        file_lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(f"{folder}: another controller runs this night: wait for it, or give another --out") from None
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}: give --out a folder that can be written") from None
    return file_lock


class Controller:
    """The controller of one night, whose lock is held and whose journal has its first event."""

    def __init__(self, folder: Path, executor: Executor, screen: Screen, until: float = float("inf")) -> None:
        """Open the night, which ends at ``until``, in seconds since the epoch.

        Raises UsageError if plan or journal are damaged, or are not of one night.
        """
        self.folder = folder
        self.journal = Journal(folder)
        self.states: dict[Place, TaskStatus] = {}
        """States of open attempts at the last poll."""
        self._executor = executor
        self._screen = screen
        self._until = until
        self._tallies: dict[Path, OutcomeTally] = {}
        self._ended_attempts: dict[tuple[Place, int], AttemptHistory] = {}
        self.plan = RunPlan.read(folder / PLAN)
        if self.planned.plan != self.plan.id:
            raise UsageError(f"{folder / PLAN}: is another plan than the night's: start another with --out")
        self.ids = {(p.target, Shard.parse(p.shard)): tuple(item.id for item in p.cases) for p in self.plan.shards}

    @property
    def planned(self) -> NightPlanned:
        if self.journal.night.planned is None:
            raise UsageError(f"{self.journal.path}: no night was planned here: leave --resume out")
        return self.journal.night.planned

    @property
    def shards(self) -> Mapping[Place, Progress]:
        return self.journal.night.shards

    @property
    def open(self) -> dict[Place, Attempt]:
        return {place: progress.open for place, progress in self.shards.items() if progress.open}

    def run(self) -> None:
        """Run until every shard is settled, or the night is over.

        KeyboardInterrupt leaves running tasks alone: see ``cancel``.
        """
        self._take_up()
        changed = time.monotonic()
        while running := self.open:
            if time.time() >= self._until:
                self.cancel("the night was over")
                return
            if self._note(running, self._executor.poll([attempt.handle for attempt in running.values()])):
                changed = time.monotonic()
            self._screen.show(view_of(self.folder, self.shards, self.states, self.tally))
            if self.open:
                time.sleep(min(LATEST_SECONDS, max(SOONEST_SECONDS, SHARE * (time.monotonic() - changed))))

    def cancel(self, why: str = "") -> None:
        """End what is running, and record it; ``why`` is for the report. What has not begun had no capacity."""
        running = self.open
        handles = [attempt.handle for attempt in running.values()]
        if handles:
            self._screen.say(f"{why + ': ' if why else ''}ending tasks: {len(handles)} ...")
            self._executor.cancel(handles)
        found = self._executor.poll(handles) if handles else {}
        over = [place for place, attempt in running.items() if found[attempt.handle].state.over]
        for place in over:
            status, before = found[running[place].handle], self.states.get(place)
            if why and status.state is TaskState.CANCELLED:
                waited = before is not None and before.state is TaskState.WAITING
                state = TaskState.NO_CAPACITY if waited else status.state
                reason = f"{why} before it began ({before.reason or 'waiting'})" if waited and before else why
                status = TaskStatus(state, status.exit_code, status.node, reason)
            self._ended(place, running[place], status)
        self._decided(over)

    def finish(self) -> Summary:
        """Write the report of the answers so far."""
        matrix = self.folder / MATRIX
        expected = expected_of(matrix) if matrix.exists() else NightExpectation()
        (self.folder / SHARDS).mkdir(exist_ok=True)
        summary = merge(
            [self.folder / SHARDS],
            self.folder / MERGED,
            plan=self.plan,
            absent=(*expected.absent, *self._absent()),
            unmanned=self._unmanned(),
            findings=[RunFinding("ExpiredGap", text) for text in expected.expired],
            notes=[*expected.notes, *self._notes()],
            junit=dialect_named(find().junit),
        )
        self.journal.add(NightFinished(summary.exit_code))
        return summary

    def tally(self, place: Place, attempt: Attempt) -> OutcomeTally:
        path = record_of(self.folder, place, attempt.number)
        return self._tallies.setdefault(path, OutcomeTally(path)).update()

    def _take_up(self) -> None:
        """Submit new shards, decide on those that ended unobserved, and run given-up ones again, as the user
        requested."""
        idle = {place: progress for place, progress in self.shards.items() if progress.open is None}
        new = [(place, Decision(True)) for place, progress in idle.items() if not progress.attempts]
        undecided = [place for place, progress in idle.items() if progress.attempts and progress.settled is None]
        given_up = [place for place, progress in idle.items() if progress.settled]
        new += self._decided(undecided)
        for place in given_up:
            if missing := unanswered(self.ids[place], self._tried(place)):
                new.append((place, Decision(True, "resumed", part(self.ids[place], missing))))
        self._submit(new)

    def _note(self, running: Mapping[Place, Attempt], found: Mapping[str, TaskStatus]) -> bool:
        """Record the states of attempts, submit what follows from them, and return whether anything has changed."""
        before = {place: status.state for place, status in self.states.items()}
        over: list[Place] = []
        for place, attempt in running.items():
            self.states[place] = status = found[attempt.handle]
            if status.state.over:
                self._ended(place, attempt, status)
                over.append(place)
            elif status.state is TaskState.RUNNING and before.get(place) is not TaskState.RUNNING:
                self._screen.say(f"{name_of(place)} runs{_format_node(status)}{_format_attempt(attempt)}")
        # Machines are judged by everything that ended there, so record all of it before deciding.
        self._submit(self._decided(over))
        return bool(over) or before != {place: status.state for place, status in self.states.items()}

    def _ended(self, place: Place, attempt: Attempt, status: TaskStatus) -> None:
        target, shard = place
        self.journal.add(
            AttemptEnded(target, str(shard), attempt.number, status.state, status.exit_code, status.node, status.reason)
        )
        self.states.pop(place, None)
        tally = self.tally(place, attempt)
        went_well = status.state is TaskState.ENDED and status.exit_code in (0, 1)
        end = "" if went_well else f": {format_status(status)}{self._last_log_line(place, attempt, status)}"
        cases = f"{cases_of(tally.outcomes)}, {len(tally.red)} red"
        self._screen.say(f"{name_of(place)} ended{_format_attempt(attempt)}, {cases}{end}")

    def _last_log_line(self, place: Place, attempt: Attempt, status: TaskStatus) -> str:
        """Return the last line of the log, which explains a run that could not start."""
        if status.exit_code != 2:
            return ""
        try:
            log = (folder_of(self.folder, place, attempt.number) / tasks.LOG).read_text(errors="replace")
        except OSError:
            return ""
        return next((f" ({line.strip()[:500]})" for line in reversed(log.splitlines()) if line.strip()), "")

    def _decided(self, places: Sequence[Place]) -> list[tuple[Place, Decision]]:
        """Return which of these shards run again, and how; the others are recorded as settled."""
        if not places:
            return []
        health = Health.of([(self.ids[place], self._tried(place)) for place in self.shards])
        again = []
        for place in places:
            decision = decide(self.ids[place], self._tried(place), health)
            if decision.again:
                again.append((place, decision))
                continue
            target, shard = place
            self.journal.add(ShardSettled(target, str(shard), self.shards[place].attempts[-1].number, decision.why))
            if decision.why:
                self._screen.say(f"{name_of(place)} is given up: {decision.why}")
        return again

    def _submit(self, chosen: Sequence[tuple[Place, Decision]]) -> None:
        if not chosen:
            return
        numbers = [len(self.shards[place].attempts) + 1 for place, _ in chosen]
        new = [task_of(self.folder, self.planned, *one, number) for one, number in zip(chosen, numbers, strict=True)]
        handles = self._executor.submit(new)
        for (place, decision), task, handle in zip(chosen, new, handles, strict=True):
            self.journal.add(AttemptSubmitted(place[0], str(place[1]), task.attempt, handle, decision.why))
            if decision.why:
                self._screen.say(f"{name_of(place)} runs again: {decision.why}")

    def _tried(self, place: Place) -> list[AttemptHistory]:
        """Return the attempts that have ended, whose records do not change any more."""
        tried = []
        for attempt in self.shards[place].attempts:
            if attempt.status:
                known = (place, attempt.number)
                if known not in self._ended_attempts:
                    self._ended_attempts[known] = self._history(place, attempt, attempt.status)
                tried.append(self._ended_attempts[known])
        return tried

    def _history(self, place: Place, attempt: Attempt, status: TaskStatus) -> AttemptHistory:
        """Return what an ended attempt left. A case that ended it alone gets its verdict here: its run could not."""
        record = record_of(self.folder, place, attempt.number)
        under_way = {case_of(test) for box in left_behind(record.parent) for test in box.tests()}
        tally = self.tally(place, attempt)
        found = AttemptHistory(
            status,
            tally.outcomes,
            frozenset(tally.red),
            frozenset(tally.short),
            asked_of(self.folder, place, attempt.number),
            frozenset(under_way),
        )
        if (culprit := found.culprit) and culprit not in found.outcomes:
            part = self.plan.shard(*place)
            assert part
            sentence = convict(part, culprit, self.planned.night, attempt.number, status, record)
            self._screen.say(f"{name_of(place)}: {culprit}: {sentence}")
            self.tally(place, attempt)
        return found

    def _absent(self) -> Iterator[MissingTarget]:
        """Yield the targets for which the engine has no machine at all."""
        for target in self.plan.targets:
            own = [attempt for (name, _), p in self.shards.items() if name == target for attempt in p.attempts]
            if own and all(one.status and one.status.state is TaskState.NO_CAPACITY for one in own):
                yield MissingTarget(target, next(f"no capacity: {one.status.reason}" for one in own if one.status))

    def _unmanned(self) -> dict[tuple[str, str], str]:
        """Return target and shard of what the engine has no machine for any more, with the reason."""
        last = ((place, progress.last) for place, progress in self.shards.items())
        return {
            (target, str(shard)): f"no capacity: {one.status.reason}"
            for (target, shard), one in last
            if one and one.status and one.status.state is TaskState.NO_CAPACITY
        }

    def _notes(self) -> Iterator[str]:
        """Yield remarks for the report's reader: shards that ran again or were given up."""
        for place, progress in self.shards.items():
            for attempt in progress.attempts[1:]:
                on = _format_node(attempt.status) if attempt.status else ""
                yield f"{name_of(place)} ran again{_format_attempt(attempt)}{on}: {attempt.why}"
            if progress.settled:
                yield f"{name_of(place)} was given up: {progress.settled}"


def _format_node(status: TaskStatus) -> str:
    return f" on {status.node}" if status.node else ""


def _format_attempt(attempt: Attempt) -> str:
    return f" (attempt {attempt.number})" if attempt.number > 1 else ""
