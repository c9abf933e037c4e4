"""Queries that commands make to a history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, NoReturn

from sqlalchemy import Column, ColumnElement, Connection, Select, case, func, or_, select, tuple_

from bitgate.core.errors import UsageError, meant
from bitgate.lab.history.schema import builds, cases, checked, jobs, machines, plain, runs, verdicts
from bitgate.lab.history.series import RunAnswer
from bitgate.results.record import Outcome

_TOGETHER = 10_000
"""Rows fetched at once."""


@dataclass(frozen=True)
class RecordedRun:
    """A run of a history.

    ``targets``: verdicts of each; ``red`` and ``unanswered`` are counts of verdicts, attempts included.
    """

    number: int
    name: str
    started: str
    ended: str
    tier: str = ""
    commits: tuple[str, ...] = ()
    targets: tuple[tuple[str, int], ...] = ()
    red: int = 0
    unanswered: int = 0

    def as_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name != "number"}
        return fields | {"targets": dict(self.targets), "commits": list(self.commits)}


@dataclass(frozen=True)
class RecordedCase:
    """One key of a case on a target, run by one test."""

    number: int
    case: str
    kernel: str
    """``family.instance``."""
    options: str
    fill: str
    seed: int
    schedule: str
    test: str
    target: str

    @property
    def key(self) -> tuple[str, ...]:
        """The key without the target, which is the same on all of them."""
        return self.case, self.kernel, self.options, self.fill, str(self.seed), self.schedule, self.test

    @property
    def family(self) -> str:
        return self.kernel.partition(".")[0]

    @property
    def words(self) -> str:
        """The kernel, and the parts of the key that differ from the defaults."""
        options = [f"{name}={value}" for name, value in json.loads(self.options).items()]
        special = [self.fill] * (self.fill != "exact") + [f"seed {self.seed}"] * (self.seed != 0)
        return " ".join([self.kernel, *options, *special, *[self.schedule] * (self.schedule != "forward")])

    def as_json(self) -> dict[str, Any]:
        family, _, instance = self.kernel.partition(".")
        return {
            "case": self.case,
            "kernel": family,
            "instance": instance,
            "options": json.loads(self.options),
            "fill": self.fill,
            "seed": self.seed,
            "schedule": self.schedule,
            "target": self.target,
            "test": self.test,
        }


MixedSeries = Iterable[tuple[RecordedCase, Sequence[RunAnswer]]]
"""Cases that were red at least once, with their answers in the order of time."""


def last_runs(connection: Connection, count: int, *, may_be_empty: bool = False) -> list[RecordedRun]:
    """Return the last ``count`` runs, the oldest first. Raises UsageError if there is none and that is not allowed."""
    newest = select(runs).order_by(runs.c.started.desc(), runs.c.id.desc()).limit(count)
    found = [RecordedRun(row.id, row.name, row.started, row.ended) for row in connection.execute(newest)]
    if not found and not may_be_empty:
        raise UsageError("the history is empty: `bitgate history ingest FILE...` reads records into it")
    return found[::-1]


def with_totals(connection: Connection, chosen: Sequence[RecordedRun]) -> list[RecordedRun]:
    """Return the same runs with the totals of their verdicts."""
    unanswered = [outcome.value for outcome in Outcome if outcome.is_unanswered]
    fields = verdicts.join(jobs).join(builds)
    counts = (
        select(
            jobs.c.run_id,
            verdicts.c.target,
            builds.c.commit,
            func.max(verdicts.c.tier).label("tier"),
            func.count().label("verdicts"),
            func.sum(case((verdicts.c.green, 0), else_=1)).label("red"),
            func.sum(case((verdicts.c.outcome.in_(unanswered), 1), else_=0)).label("unanswered"),
        )
        .select_from(fields)
        .where(_of_runs(chosen))
        .group_by(jobs.c.run_id, verdicts.c.target, builds.c.commit)
        .order_by(jobs.c.run_id, verdicts.c.target, builds.c.commit)
    )
    rows = {number: list(group) for number, group in groupby(connection.execute(counts), lambda row: row.run_id)}
    return [_with_totals_of(run, rows.get(run.number, [])) for run in chosen]


def _with_totals_of(run: RecordedRun, rows: Sequence[Any]) -> RecordedRun:
    targets: dict[str, int] = {}
    for row in rows:
        targets[row.target] = targets.get(row.target, 0) + row.verdicts
    return RecordedRun(
        run.number,
        run.name,
        run.started,
        run.ended,
        max((row.tier for row in rows), default=""),
        tuple(dict.fromkeys(row.commit for row in rows)),
        tuple(targets.items()),
        sum(row.red for row in rows),
        sum(row.unanswered for row in rows),
    )


def run_named(connection: Connection, name: str) -> RecordedRun | None:
    row = connection.execute(select(runs).where(runs.c.name == name)).one_or_none()
    return RecordedRun(row.id, row.name, row.started, row.ended) if row else None


def series(
    connection: Connection,
    chosen: Sequence[RecordedRun],
    *,
    name: str = "",
    names: Sequence[str] = (),
    target: str = "",
    mixed_only: bool = False,
) -> Iterator[tuple[RecordedCase, list[RunAnswer]]]:
    """Yield every case on every target with its verdicts in the chosen runs, in the order of time.

    ``names``: only those of these case ids; ``mixed_only``: only those that were red at least once.
    """
    asked = [*names, *[name] * bool(name)]
    wanted = select(*map(plain, OF_CASE))
    wanted = wanted.where(cases.c.case.in_(asked)) if asked else wanted
    of_case = {row[0]: row for row in checked(_CaseRow, connection.execute(wanted).partitions(_TOGETHER))}
    runs_of = dict(map(tuple, connection.execute(select(jobs.c.id, jobs.c.run_id).where(_of_runs(chosen)))))
    nodes = dict(map(tuple, connection.execute(select(machines.c.id, machines.c.host))))
    built = {row[0]: row[1:] for row in connection.execute(select(builds.c.id, builds.c.build, builds.c.commit))}
    conditions = [verdicts.c.job_id.in_(select(jobs.c.id).where(_of_runs(chosen))), *_where("", target)]
    if asked:
        conditions.append(verdicts.c.case_id.in_(select(cases.c.id).where(cases.c.case.in_(asked))))
    if mixed_only:
        red = or_(verdicts.c.green.is_(False), verdicts.c.outcome == Outcome.KNOWN_BUG.value)
        pairs = select(verdicts.c.case_id, verdicts.c.target).where(red, *conditions).distinct()
        conditions.append(tuple_(verdicts.c.case_id, verdicts.c.target).in_(pairs))
    statement = (
        select(*map(plain, _ANSWER))
        .where(*conditions)
        .order_by(verdicts.c.case_id, verdicts.c.target, verdicts.c.time, verdicts.c.id)
        .execution_options(yield_per=_TOGETHER)
    )
    found = checked(_AnswerRow, connection.execute(statement).partitions())
    for (number, where), rows in groupby(found, lambda row: row[:2]):
        yield (
            recorded_case((*of_case[number], where)),
            [
                RunAnswer(time, runs_of[job], nodes[node], *built[build], outcome, green, digest, seconds)
                for _, _, time, job, node, build, outcome, green, digest, seconds in rows
            ],
        )


def recorded_case(row: Sequence[Any]) -> RecordedCase:
    """Return the case of a row of ``OF_CASE`` and a target."""
    number, name, kernel, instance, *rest = row
    return RecordedCase(number, name, f"{kernel}.{instance}", *rest)


class _CaseRow(NamedTuple):
    number: int
    case: str
    kernel: str
    instance: str
    options: str
    fill: str
    seed: int
    schedule: str
    test: str


class _AnswerRow(NamedTuple):
    case_id: int
    target: str
    time: str
    job_id: int
    machine_id: int
    build_id: int
    outcome: Outcome
    green: bool
    digest: str
    seconds: float


OF_CASE = (
    cases.c.id,
    cases.c.case,
    cases.c.kernel,
    cases.c.instance,
    cases.c.options,
    cases.c.fill,
    cases.c.seed,
    cases.c.schedule,
    cases.c.test,
)
"""A case without its target, which is its verdict's or its sample's."""
_ANSWER = [verdicts.c[name] for name in _AnswerRow._fields]


def _of_runs(chosen: Sequence[RecordedRun]) -> ColumnElement[bool]:
    return jobs.c.run_id.in_([run.number for run in chosen])


def _where(name: str, target: str) -> list[ColumnElement[bool]]:
    """Return the conditions; ``name`` is a case id, and empty ones stand for all."""
    found = []
    if name:
        found.append(cases.c.case == name)
    if target:
        found.append(verdicts.c.target == target)
    return found


def has_case(connection: Connection, name: str) -> bool:
    return connection.execute(select(cases.c.id).where(cases.c.case == name).limit(1)).first() is not None


def nearest(connection: Connection, name: str) -> NoReturn:
    """Raise UsageError about a case without a record, with the nearest case that has one."""
    known = connection.scalars(select(cases.c.case).distinct())
    raise UsageError(f"no record of {name:.200} is in the history{meant(name, known, 0.6)}")


def counts_of_machines(
    connection: Connection, chosen: Sequence[RecordedRun], target: str = ""
) -> dict[str, dict[str, int]]:
    """Count by machine the verdicts of each outcome."""
    found: dict[str, dict[str, int]] = {}
    statement = _counting(chosen, target, machines.c.host, verdicts.c.outcome)
    for host, outcome, count in connection.execute(statement):
        found.setdefault(host, {})[outcome] = count
    return found


def counts_of_nights(
    connection: Connection, chosen: Sequence[RecordedRun], target: str = ""
) -> dict[tuple[int, str, str], int]:
    """Count the answers by run, target and kernel family."""
    statement = _counting(chosen, target, jobs.c.run_id, verdicts.c.target, cases.c.kernel)
    return {(row[0], row[1], row[2]): row[3] for row in connection.execute(statement.where(_answered()))}


def counts_of_cases(
    connection: Connection, chosen: Sequence[RecordedRun], target: str = ""
) -> dict[tuple[int, str], int]:
    """Count the answers by case and target."""
    statement = _counting(chosen, target, verdicts.c.case_id, verdicts.c.target)
    return {(row[0], row[1]): row[2] for row in connection.execute(statement.where(_answered()))}


def _answered() -> ColumnElement[bool]:
    return verdicts.c.outcome.not_in([outcome.value for outcome in Outcome if outcome.is_unanswered])


def _counting(chosen: Sequence[RecordedRun], target: str, *by: Column[Any]) -> Select[Any]:
    """Count verdicts by columns. Only their tables are joined: each takes a second of a million rows."""
    joined: Any = verdicts
    for other in (jobs, cases, machines):
        if any(column.table is other for column in by):
            joined = joined.join(other)
    of_runs = verdicts.c.job_id.in_(select(jobs.c.id).where(_of_runs(chosen)))
    return select(*by, func.count()).select_from(joined).where(of_runs, *_where("", target)).group_by(*by)
