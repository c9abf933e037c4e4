"""Comparison of two runs, or two targets: verdicts and digests that differ."""

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
    """A case whose answers differ. ``target`` is empty where two targets are compared."""

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
        answers = {name: {"verdict": side.outcome.value, "digest": side.digest} for name, side in sides.items()}
        return {**key, "what": self.what, **answers}


@dataclass(frozen=True)
class Difference:
    """The difference of two sides.

    ``same``: number of cases that both have, with equal answers; ``only``: numbers of cases that one side alone has.
    """

    before: DiffSide
    after: DiffSide
    changes: tuple[VerdictChange, ...]
    same: int
    only: tuple[int, int]

    def as_json(self) -> dict[str, Any]:
        return {"changes": [one.as_json() for one in self.changes], "same": self.same, "only": list(self.only)}


def difference(connection: Connection, before: str, after: str, runs: Sequence[RecordedRun]) -> Difference:
    """Compare two runs or two targets. ``runs`` are those considered for targets.

    Raises UsageError for a name that is neither a run nor a target, or one of each.
    """
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
    targets = {target for run in query.with_totals(connection, runs) for target, _ in run.targets}
    if name in targets:
        return DiffSide(name, False)
    known = [*(run.name for run in runs), *sorted(targets)]
    raise UsageError(
        f"'{name}' is neither a run of the history nor a target{meant(name, known)}; `bitgate history runs`"
    )


def _answers(
    connection: Connection, side: DiffSide, runs: Sequence[RecordedRun]
) -> dict[tuple[str, ...], tuple[RecordedCase, RunAnswer]]:
    """Return the last answer of each case; for a run that of its last attempt."""
    run = query.run_named(connection, side.name) if side.is_run else None
    found = {}
    for case, recorded in query.series(connection, [run] if run else runs, target="" if run else side.name):
        answers = [answer for answer in recorded if not answer.outcome.is_unanswered] or list(recorded)
        found[(*case.key, case.target) if run else case.key] = (case, answers[-1])
    return found


def _differ(one: RunAnswer, other: RunAnswer) -> bool:
    """Say whether two answers differ. Bits are compared where both have a digest: real numbers have none."""
    if one.outcome is not other.outcome:
        return True
    return bool(one.digest and other.digest and one.digest != other.digest)
