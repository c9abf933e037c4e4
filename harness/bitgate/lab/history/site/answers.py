"""The answers of many cases at once, as a site needs them: narrow rows, and tables of what their numbers refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from bitgate.lab.history.query import OF_CASE, RecordedCase, RecordedRun, recorded_case
from bitgate.lab.history.schema import builds, cases, checked, jobs, machines, plain, verdicts

TOGETHER = 64
"""Consecutive numbers of cases in one bundle."""
_FETCHED = 10_000


class Point(NamedTuple):
    """One answer of a case; ``job``, ``machine`` and ``build`` are numbers."""

    case: int
    target: str
    time: str
    job: int
    machine: int
    build: int
    outcome: str
    green: bool
    compared: bool
    digest: str
    seconds: float
    kind: str
    sentence: str
    repro: str


class Machine(NamedTuple):
    """A machine of the history: ``node`` is its name, with the address of a GPU if one is known."""

    node: str
    device: str
    kind: str
    platform: str
    os: str
    driver: str
    runtime: str


@dataclass(frozen=True)
class Names:
    """The names that numbers of answers refer to. ``runs`` has the run of each job in the window, in order of time."""

    runs: dict[int, RecordedRun]
    places: dict[int, int]
    """The place of each job's run in the window."""
    machines: dict[int, Machine]
    commits: dict[int, str]
    since: str
    """The time of the window's first verdict."""


class Extent(NamedTuple):
    """The answers of one case on one target: how many, and the number of the last one that was stored."""

    case: int
    target: str
    answers: int
    last: int


def names_of(connection: Connection, window: Sequence[RecordedRun]) -> Names:
    """Return the names for all answers of some runs, which are in the order of time."""
    place = {run.number: number for number, run in enumerate(window)}
    rows = connection.execute(select(jobs.c.id, jobs.c.run_id))
    places = {job: place[run] for job, run in rows if run in place}
    fields = [machines.c[name] for name in ("id", "host", *Machine._fields[1:])]
    found = {row[0]: Machine(*row[1:]) for row in connection.execute(select(*fields))}
    commits = {row.id: row.commit for row in connection.execute(select(builds.c.id, builds.c.commit))}
    return Names({job: window[at] for job, at in places.items()}, places, found, commits, window[0].started)


def extents(connection: Connection, since: str) -> list[Extent]:
    """Return the cases with answers since a time, in the order of their numbers and targets."""
    key = verdicts.c.case_id, verdicts.c.target
    statement = select(*key, func.count(), func.max(verdicts.c.id)).where(verdicts.c.time >= since)
    return [Extent(*row) for row in connection.execute(statement.group_by(*key).order_by(*key))]


def bundle(connection: Connection, number: int, names: Names) -> Iterator[tuple[RecordedCase, str, list[Point]]]:
    """Yield the cases of a bundle on each target, with their suites, and their answers in the order of time."""
    first, last = number * TOGETHER, (number + 1) * TOGETHER - 1
    wide = {
        row[0]: row
        for row in connection.execute(select(*OF_CASE, cases.c.suite).where(cases.c.id.between(first, last)))
    }
    statement = (
        select(*_POINT)
        .where(verdicts.c.case_id.between(first, last), verdicts.c.time >= names.since)
        .order_by(verdicts.c.case_id, verdicts.c.target, verdicts.c.time, verdicts.c.id)
        .execution_options(yield_per=_FETCHED)
    )
    rows = checked(Point, connection.execute(statement).partitions())
    for (case, target), points in groupby(rows, lambda point: point[:2]):
        mine = [point for point in points if _is_named(point, names)]
        if mine:
            *of_case, suite = wide[case]
            yield recorded_case((*of_case, target)), suite, mine


def _is_named(point: Point, names: Names) -> bool:
    """Return False for an answer that is not of the window, or that was stored after the names were read."""
    return point.job in names.places and point.machine in names.machines and point.build in names.commits


_POINT = [
    plain(verdicts.c[name])
    for name in ("case_id", "target", "time", "job_id", "machine_id", "build_id", *Point._fields[6:])
]
