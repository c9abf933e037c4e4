"""Two runs, or two targets, held against each other: verdicts and digests that are not the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from bitgate.core.errors import UsageError, meant
from bitgate.lab.history import query
from bitgate.lab.history.query import RecordedCase, RecordedRun
from bitgate.lab.history.series import RunAnswer


@dataclass(frozen=True)
class DiffSide:
    """A run, or a target by its last answers."""

    name: str
    is_run: bool


@dataclass(frozen=True)
class VerdictChange:
    """``target`` is empty where two targets are compared."""

    case: RecordedCase
    target: str
    before: RunAnswer
    after: RunAnswer

    @property
    def what(self) -> str:
        return "verdict" if self.before.outcome is not self.after.outcome else "digest"

    def as_json(self) -> dict[str, Any]:
        key = {name: value for name, value in self.case.as_json().items() if name != "target" or self.target}
        sides = {"before": self.before, "after": self.after}
        said = {name: {"verdict": side.outcome.value, "digest": side.digest} for name, side in sides.items()}
        return {**key, "what": self.what, **said}


@dataclass(frozen=True)
class Difference:
    """``same``: cases that both have, with equal answers; ``only``: cases that one side alone has."""

    before: DiffSide
    after: DiffSide
    changes: tuple[VerdictChange, ...]
    same: int
    only: tuple[int, int]

    def as_json(self) -> dict[str, Any]:
        return {"changes": [one.as_json() for one in self.changes], "same": self.same, "only": list(self.only)}


def difference(connection: Connection, before: str, after: str, runs: Sequence[RecordedRun]) -> Difference:
    """UsageError for a name that is no run and no target, or one of each. ``runs`` are those looked at for targets."""
    sides = (_side(connection, before, runs), _side(connection, after, runs))
    if sides[0].is_run != sides[1].is_run:
        one, other = sides if sides[0].is_run else sides[::-1]
        raise UsageError(f"{one.name} is a run and {other.name} a target: give two runs, or two targets")
    left, right = (_answers(connection, side, runs) for side in sides)
    both = [key for key in left if key in right]
    changes = [
        VerdictChange(left[key][0], "" if not sides[0].is_run else left[key][0].target, left[key][1], right[key][1])
        for key in both
        if _differ(left[key][1], right[key][1])
    ]
    only = (len(left) - len(both), len(right) - len(both))
    return Difference(sides[0], sides[1], tuple(changes), len(both) - len(changes), only)


def _side(connection: Connection, name: str, runs: Sequence[RecordedRun]) -> DiffSide:
    if query.run_named(connection, name):
        return DiffSide(name, True)
    targets = {target for run in query.told(connection, runs) for target, _ in run.targets}
    if name in targets:
        return DiffSide(name, False)
    known = [*(run.name for run in runs), *sorted(targets)]
    raise UsageError(f"'{name}' is no run of the history, and no target{meant(name, known)}; `bitgate history runs`")


def _answers(
    connection: Connection, side: DiffSide, runs: Sequence[RecordedRun]
) -> dict[tuple[str, ...], tuple[RecordedCase, RunAnswer]]:
    """The last answer of each case: of a run that of its last attempt."""
    run = query.run_named(connection, side.name) if side.is_run else None
    found = {}
    for case, told in query.series(connection, [run] if run else runs, target="" if run else side.name):
        answers = [answer for answer in told if not answer.outcome.is_unanswered] or list(told)
        found[(*case.key, case.target) if run else case.key] = (case, answers[-1])
    return found


def _differ(one: RunAnswer, other: RunAnswer) -> bool:
    """Bits are compared where both sides have a digest: real numbers have none."""
    if one.outcome is not other.outcome:
        return True
    return bool(one.digest and other.digest and one.digest != other.digest)
