"""Gaps that a target is allowed to have: cases that do not run there though no plan foretold it, until a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase

from msgspec import Struct

from bitgate.results.record import Outcome, Verdict


class AllowedSkip(Struct, frozen=True):
    """``[[target.NAME.tolerated]]``: a NOT_RUN of these cases (globs over id, family or family.instance, and the
    reason that the verdict gives) is expected through the day ``expires`` (UTC)."""

    reason: str
    owner: str
    expires: date
    case: str = "*"
    kernel: str = "*"
    not_run: str = "*"

    def covers(self, verdict: Verdict) -> bool:
        key = verdict.key
        return (
            verdict.outcome is Outcome.NOT_RUN
            and fnmatchcase(key.case, self.case)
            and any(fnmatchcase(name, self.kernel) for name in (key.kernel, key.name))
            and fnmatchcase(verdict.reason, self.not_run)
        )

    def expired(self, today: date | None = None) -> bool:
        return (today or today_utc()) > self.expires

    @property
    def words(self) -> str:
        """What it takes in."""
        stated = {"case": self.case, "kernel": self.kernel, "not_run": self.not_run}
        return ", ".join(f"{name} {glob}" for name, glob in stated.items() if glob != "*")


def judged(verdict: Verdict, gaps: Sequence[AllowedSkip], today: date | None = None) -> Verdict:
    """The verdict, expected if a gap that has not expired takes it in."""
    if verdict.green or not (covering := [gap for gap in gaps if gap.covers(verdict)]):
        return verdict
    gap = next((gap for gap in covering if not gap.expired(today)), None)
    if gap is None:
        last = max(covering, key=lambda one: one.expires)
        said = f"tolerated until {last.expires} only ({last.owner}: {last.reason}): {verdict.reason}"
        return replace(verdict, reason=said)
    said = f"tolerated until {gap.expires} ({gap.owner}: {gap.reason}): {verdict.reason}"
    return replace(verdict, reason=said, expected=True)


def today_utc() -> date:
    return datetime.now(timezone.utc).date()
