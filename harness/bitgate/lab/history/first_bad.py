"""The first bad run of a case, and the commits between the last good run and that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from bitgate.lab.history import query
from bitgate.lab.history.flaky import Attribution, host_of, root_causes
from bitgate.lab.history.query import MixedSeries, RecordedCase, RecordedRun
from bitgate.lab.history.series import RunAnswer, Series
from bitgate.results.record import UNKNOWN


@dataclass(frozen=True)
class RegressedCase:
    """A case that is red by its last answer.

    ``good`` is its last answer before the red ones, None if all known answers are red; ``reds`` counts the red answers
    since.
    """

    case: RecordedCase
    good: RunAnswer | None
    bad: RunAnswer
    reds: int

    def as_json(self) -> dict[str, Any]:
        since = {"verdict": self.bad.outcome.value, "since": self.bad.time, "reds": self.reds}
        return {**self.case.as_json(), **since}


@dataclass(frozen=True)
class FirstBad:
    """Cases that broke in the same run, for which one change is likely responsible.

    ``good`` and ``bad`` are commits, without the mark of a dirty checkout; empty where they are not known.
    """

    run: str
    good_run: str
    good: str
    bad: str
    cases: tuple[RegressedCase, ...]

    @property
    def once(self) -> bool:
        """True if only one run was red so far: it may be a flake."""
        return all(broken.reds == 1 for broken in self.cases)

    def as_json(self) -> dict[str, Any]:
        places = {"run": self.run, "good_run": self.good_run, "good": self.good, "bad": self.bad, "once": self.once}
        return places | {"cases": [one.as_json() for one in self.cases]}


def first_bad(
    connection: Connection,
    runs: Sequence[RecordedRun],
    name: str = "",
    target: str = "",
    known: Attribution | None = None,
    mixed: MixedSeries | None = None,
) -> list[FirstBad]:
    """Return the first bad runs of one case, or of all that are red now, the most cases first.

    Flaky cases and answers of unreliable machines are left out; a caller that knows those of the runs passes ``known``,
    and one that has read the cases that were red at least once passes them as ``mixed``.
    """
    known = known or root_causes(connection, runs)
    broken = []
    if mixed is None:
        mixed = query.series(connection, runs, name=name, target=target, mixed_only=True)
    for case, recorded in mixed:
        if found := _broken(case, recorded, known):
            broken.append(found)
    place = {run.number: number for number, run in enumerate(runs)}
    groups: dict[tuple[int, int], list[RegressedCase]] = {}
    for one in broken:
        groups.setdefault((place[one.good.run] if one.good else -1, place[one.bad.run]), []).append(one)
    found_all = [_first_bad_of(group, runs, *span) for span, group in _joined(groups).items()]
    return sorted(found_all, key=lambda found: (found.once, -len(found.cases), found.run))


def _joined(groups: Mapping[tuple[int, int], list[RegressedCase]]) -> dict[tuple[int, int], list[RegressedCase]]:
    """Join groups: a case that missed a night has a longer span, and goes with the shortest other span inside of it."""
    found: dict[tuple[int, int], list[RegressedCase]] = {}
    for span in sorted(groups, key=lambda span: (span[1] - span[0], span)):
        within = next((one for one in found if span[0] <= one[0] and one[1] <= span[1] and span[0] >= 0), span)
        found.setdefault(within, []).extend(groups[span])
    return found


def _first_bad_of(group: Sequence[RegressedCase], runs: Sequence[RecordedRun], good: int, bad: int) -> FirstBad:
    first = group[0]
    before = runs[good].name if good >= 0 else ""
    return FirstBad(runs[bad].name, before, commit_of(first.good), commit_of(first.bad), tuple(group))


def _broken(case: RecordedCase, recorded: Sequence[RunAnswer], known: Attribution) -> RegressedCase | None:
    if (case.number, case.target) in known.flaky:
        return None
    series = Series.of([answer for answer in recorded if not {answer.node, host_of(answer.node)} & known.spoilers])
    if not series.is_red:
        return None
    period = series.periods[-1]
    red = [answer for answer in series.answers[period.first :] if answer.red]
    good = [answer for answer in series.answers[: period.first] if not answer.red]
    return RegressedCase(case, good[-1] if good else None, red[0], len(red))


def commit_of(answer: RunAnswer | None) -> str:
    """Return the commit of an answer without the mark of a dirty checkout; empty if it is not known."""
    commit = answer.commit.removesuffix("-dirty") if answer else ""
    return "" if commit == UNKNOWN else commit
