"""When a case broke: its first bad run, and the commits between the last good one and that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from bitgate.lab.history import query
from bitgate.lab.history.flaky import Attribution, blame
from bitgate.lab.history.query import RecordedCase, RecordedRun
from bitgate.lab.history.series import RunAnswer, Series
from bitgate.results.record import UNKNOWN


@dataclass(frozen=True)
class RegressedCase:
    """A case that is red by its last answer. ``good`` is its last answer before the red ones, None if all that is
    known is red; ``reds`` counts the red answers since."""

    case: RecordedCase
    good: RunAnswer | None
    bad: RunAnswer
    reds: int

    def as_json(self) -> dict[str, Any]:
        since = {"verdict": self.bad.outcome.value, "since": self.bad.time, "reds": self.reds}
        return {**self.case.as_json(), **since}


@dataclass(frozen=True)
class FirstBad:
    """Cases that broke in the same run: one change is likely behind all of them. ``good`` and ``bad`` are commits,
    without what says that their checkout was dirty; empty where they are not known."""

    run: str
    good_run: str
    good: str
    bad: str
    cases: tuple[RegressedCase, ...]

    @property
    def once(self) -> bool:
        """Was only one run red so far? It may be a flake."""
        return all(broken.reds == 1 for broken in self.cases)

    def as_json(self) -> dict[str, Any]:
        places = {"run": self.run, "good_run": self.good_run, "good": self.good, "bad": self.bad, "once": self.once}
        return places | {"cases": [one.as_json() for one in self.cases]}


def first_bad(connection: Connection, runs: Sequence[RecordedRun], name: str = "", target: str = "") -> list[FirstBad]:
    """Of one case, or of all that are red now, the most cases first. Cases that are known to be flaky, and answers of
    machines that spoil them, break nothing."""
    known = blame(connection, runs)
    broken = []
    for case, told in query.series(connection, runs, name=name, target=target, mixed_only=True):
        if found := _broken(case, told, known):
            broken.append(found)
    place = {run.number: number for number, run in enumerate(runs)}
    groups: dict[tuple[int, int], list[RegressedCase]] = {}
    for one in broken:
        groups.setdefault((place[one.good.run] if one.good else -1, place[one.bad.run]), []).append(one)
    found_all = [_told(group, runs, *span) for span, group in _joined(groups).items()]
    return sorted(found_all, key=lambda found: (found.once, -len(found.cases), found.run))


def _joined(groups: Mapping[tuple[int, int], list[RegressedCase]]) -> dict[tuple[int, int], list[RegressedCase]]:
    """A case that missed a night tells a longer span: it goes with the shortest of the others that lies in it."""
    found: dict[tuple[int, int], list[RegressedCase]] = {}
    for span in sorted(groups, key=lambda span: (span[1] - span[0], span)):
        within = next((one for one in found if span[0] <= one[0] and one[1] <= span[1] and span[0] >= 0), span)
        found.setdefault(within, []).extend(groups[span])
    return found


def _told(group: Sequence[RegressedCase], runs: Sequence[RecordedRun], good: int, bad: int) -> FirstBad:
    first = group[0]
    before = runs[good].name if good >= 0 else ""
    return FirstBad(runs[bad].name, before, _commit(first.good), _commit(first.bad), tuple(group))


def _broken(case: RecordedCase, told: Sequence[RunAnswer], known: Attribution) -> RegressedCase | None:
    if (case.number, case.target) in known.flaky:
        return None
    series = Series.of([answer for answer in told if answer.node not in known.spoilers])
    if not series.is_red:
        return None
    period = series.periods[-1]
    red = [answer for answer in series.answers[period.first :] if answer.red]
    good = [answer for answer in series.answers[: period.first] if not answer.red]
    return RegressedCase(case, good[-1] if good else None, red[0], len(red))


def _commit(answer: RunAnswer | None) -> str:
    commit = answer.commit.removesuffix("-dirty") if answer else ""
    return "" if commit == UNKNOWN else commit
