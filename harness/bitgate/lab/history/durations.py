"""Durations of cases by target and class of machines: for shards, deadlines, and time limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, select

from bitgate.lab.history.levels import levels
from bitgate.lab.history.query import RecordedRun
from bitgate.lab.history.schema import cases, jobs, machines, verdicts
from bitgate.results.record import Key, Outcome, Stamp, Verdict

LEAST_DRIFT = 0.05
"""Least change that is reported, as a share of the slower level."""
LEAST_SECONDS = 0.001
"""Least change that is reported: what is shorter is the machine's, not the case's."""


class DurationDrift(NamedTuple):
    """A change over all runs: the last level divided by the first, and the run with which the first one ended."""

    ratio: float
    since: str

    def __str__(self) -> str:
        return f"{'slower' if self.ratio > 1 else 'faster'} by {100 * abs(self.ratio - 1):.0f} % since {self.since}"


@dataclass(frozen=True)
class Duration:
    """The durations of a case.

    ``samples``: seconds, the newest last, one for each of ``runs``: the median where a run had several.
    """

    target: str
    machine: str
    """The class of machines: the name of the device."""
    case: str
    family: str
    instance: str
    fill: str
    samples: tuple[float, ...]
    runs: tuple[RecordedRun, ...]

    @property
    def median(self) -> float:
        return round(median(self.samples), 5)

    @property
    def p95(self) -> float:
        """The 95th percentile, by nearest rank: the largest where there are fewer than 20."""
        return sorted(self.samples)[ceil(0.95 * len(self.samples)) - 1]

    @cached_property
    def drift(self) -> DurationDrift | None:
        """The change from the first level of the series to the last one, be it one step or many small ones; None if it
        is too small. A night that stands out is no level (``levels``)."""
        if min(self.samples) <= 0:
            return None
        first, *rest = levels(self.samples)
        if not rest:
            return None
        least = max(LEAST_SECONDS, LEAST_DRIFT * max(first.seconds, rest[-1].seconds))
        if abs(rest[-1].seconds - first.seconds) < least:
            return None
        return DurationDrift(rest[-1].seconds / first.seconds, self.runs[rest[0].first].name)

    def as_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name not in ("samples", "runs", "drift")}
        drift = self.drift._asdict() if self.drift else None
        return fields | {"runs": len(self.samples), "median": self.median, "p95": self.p95, "drift": drift}


def durations(connection: Connection, runs: Sequence[RecordedRun], target: str = "") -> Iterator[Duration]:
    """Yield the durations of compared cases: that of a case that crashed means nothing."""
    conditions = [jobs.c.run_id.in_([run.number for run in runs]), verdicts.c.compared]
    if target:
        conditions.append(verdicts.c.target == target)
    key = (cases.c.case, cases.c.kernel, cases.c.instance, cases.c.fill)
    statement = (
        select(verdicts.c.target, machines.c.device, *key, jobs.c.run_id, verdicts.c.seconds)
        .select_from(verdicts.join(jobs).join(cases).join(machines))
        .where(and_(*conditions))
        .execution_options(yield_per=10_000)
    )
    taken: dict[tuple[str, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for *place, run, seconds in connection.execute(statement):
        taken[tuple(place)][run].append(seconds)
    for (where, machine, case, family, instance, fill), by_run in sorted(taken.items()):
        ran = tuple(run for run in runs if run.number in by_run)
        samples = tuple(round(median(by_run[run.number]), 5) for run in ran)
        yield Duration(where, machine, case, family, instance, fill, samples, ran)


def as_verdicts(found: Iterable[Duration]) -> Iterator[Verdict]:
    """Yield verdicts from which tables of durations are made."""
    for one in found:
        key = Key(one.case, one.family, one.instance, (), one.fill, 0, "forward", one.target)
        for run, seconds in zip(one.runs, one.samples, strict=True):
            stamp = Stamp(run.name, 1, run.started)
            yield Verdict(key, Outcome.PASS, device_name=one.machine, seconds={"total": seconds}, run=stamp)
