"""The time of a kernel on a problem, run after run, and its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import groupby
from statistics import median
from typing import Any

from sqlalchemy import Connection, select

from bitgate.core.errors import UsageError
from bitgate.lab.history.levels import ENOUGH_NIGHTS, Level, levels
from bitgate.lab.history.query import OF_CASE, RecordedCase, RecordedRun
from bitgate.lab.history.schema import builds, cases, jobs, machines, runs, samples
from bitgate.results.record import UNKNOWN

MINIMUM_EFFECT = 0.03
"""Least step that is reported, as a share of the slower level."""
_TOGETHER = 10_000


@dataclass(frozen=True)
class TimedRun:
    """One run: the median of its ``samples`` samples."""

    run: str
    time: str
    seconds: float
    samples: int
    commit: str
    node: str


@dataclass(frozen=True)
class LevelShift:
    """A step of a series: point ``place`` is the first of a new level. ``ratio`` is the level after divided by that
    before."""

    place: int
    before: Level
    after: Level
    last: TimedRun
    """The last run of the level before."""
    first: TimedRun

    @property
    def ratio(self) -> float:
        return self.after.seconds / self.before.seconds

    @property
    def effect(self) -> float:
        """The step as a share of the slower level."""
        return 1 - min(self.ratio, 1 / self.ratio)

    @property
    def commits(self) -> tuple[str, str]:
        """The last commit of the level before and the first of the one after; empty where their records do not have
        them."""
        return _clean(self.last.commit), _clean(self.first.commit)

    def as_json(self) -> dict[str, Any]:
        good, bad = self.commits
        levels = {"before": self.before.seconds, "after": self.after.seconds, "ratio": self.ratio}
        return levels | {"run": self.first.run, "last_run": self.last.run, "good": good, "bad": bad}


@dataclass(frozen=True)
class TimedSeries:
    """One kernel on one problem on one kind of device, timed in one way. ``points`` are in the order of time."""

    case: RecordedCase
    device: str
    how: str
    points: tuple[TimedRun, ...]
    minimum_effect: float = MINIMUM_EFFECT

    @property
    def enough(self) -> bool:
        """True if there are enough nights to report steps."""
        return len(self.points) >= ENOUGH_NIGHTS

    @cached_property
    def levels(self) -> list[Level]:
        return levels([point.seconds for point in self.points])

    @cached_property
    def steps(self) -> list[LevelShift]:
        """The steps that are large enough to matter."""
        found = [
            LevelShift(after.first, before, after, self.points[before.last], self.points[after.first])
            for before, after in zip(self.levels, self.levels[1:], strict=False)
        ]
        return [step for step in found if step.effect >= self.minimum_effect]

    @property
    def regression(self) -> LevelShift | None:
        """The last step, if it led to more seconds."""
        return self.steps[-1] if self.steps and self.steps[-1].ratio > 1 else None

    @property
    def words(self) -> str:
        """The state in words: ``slower by 5.2 % since night-31``."""
        if not self.enough:
            return f"too little data: {len(self.points)} nights, {ENOUGH_NIGHTS} are needed"
        if not self.steps:
            return "steady"
        step = self.steps[-1]
        change = "slower" if step.ratio > 1 else "faster"
        return f"{change} by {100 * abs(step.ratio - 1):.1f} % since {step.first.run}"

    def as_json(self) -> dict[str, Any]:
        return {
            **self.case.as_json(),
            "device": self.device,
            "how": self.how,
            "says": self.words,
            "enough": self.enough,
            "points": [vars(point) for point in self.points],
            "levels": [level._asdict() for level in self.levels],
            "steps": [step.as_json() for step in self.steps],
        }


def timed_runs(connection: Connection, count: int) -> list[RecordedRun]:
    """Return the last ``count`` runs with timings, the oldest first. Raises UsageError if there are none."""
    timing = select(jobs.c.run_id).join(samples, samples.c.job_id == jobs.c.id)
    newest = select(runs).where(runs.c.id.in_(timing)).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(count)
    found = [RecordedRun(row.id, row.name, row.started, row.ended) for row in connection.execute(newest)]
    if not found:
        raise UsageError("no timings are in the history: `bitgate history ingest FOLDER...` reads bench.jsonl into it")
    return found[::-1]


def timed(
    connection: Connection,
    chosen: Sequence[RecordedRun],
    *,
    name: str = "",
    kernel: str = "",
    target: str = "",
    minimum_effect: float = MINIMUM_EFFECT,
) -> Iterator[TimedSeries]:
    """Yield the series. ``name`` is a case id, ``kernel`` a glob over family.instance; empty ones stand for all."""
    names = {run.number: run.name for run in chosen}
    conditions = [jobs.c.run_id.in_(names), *[cases.c.case == name] * bool(name)]
    conditions += [samples.c.target == target] * bool(target)
    statement = (
        select(*_CASE, machines.c.device, samples.c.series, *_POINT)
        .select_from(samples.join(jobs).join(cases).join(machines).join(builds))
        .where(*conditions)
        .order_by(samples.c.case_id, samples.c.target, machines.c.device, samples.c.series, samples.c.time)
        .execution_options(yield_per=_TOGETHER)
    )
    width = len(_CASE)
    for _, rows in groupby(connection.execute(statement), lambda row: (row[0], *row[width - 1 : width + 2])):
        group = [tuple(row) for row in rows]
        number, case, family, instance, *rest = group[0][:width]
        if kernel and not fnmatchcase(f"{family}.{instance}", kernel) and not fnmatchcase(family, kernel):
            continue
        points = tuple(_points([row[width + 2 :] for row in group], names))
        device, how = group[0][width : width + 2]
        yield TimedSeries(
            RecordedCase(number, case, f"{family}.{instance}", *rest), device, how, points, minimum_effect
        )


def _points(rows: Sequence[Sequence[Any]], names: dict[int, str]) -> Iterator[TimedRun]:
    by_run: dict[int, list[Sequence[Any]]] = {}
    for row in rows:
        by_run.setdefault(row[1], []).append(row)
    for number, found in by_run.items():
        time, _, node, commit, _ = found[0]
        seconds = median(row[4] for row in found)
        if seconds > 0:
            yield TimedRun(names[number], time, seconds, len(found), commit, node)


def _clean(commit: str) -> str:
    commit = commit.removesuffix("-dirty")
    return "" if commit == UNKNOWN else commit


_CASE = (*OF_CASE, samples.c.target)
_POINT = (samples.c.time, jobs.c.run_id, machines.c.host, builds.c.commit, samples.c.seconds)
