"""Temporarily allowed skips: unplanned NOT_RUN results that are accepted on a target until an expiry date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from fnmatch import fnmatchcase

from msgspec import Struct

from bitgate.results.record import Outcome, Verdict


class AllowedSkip(Struct, frozen=True):
    """One ``[[target.NAME.tolerated]]`` table: NOT_RUN results that are expected through the day ``expires`` (UTC).

    ``case``, ``kernel`` and ``not_run`` are globs over the case id, the family or family.instance, and the verdict's
    reason.
    """

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
        """The globs that are stated, for people."""
        stated = {"case": self.case, "kernel": self.kernel, "not_run": self.not_run}
        return ", ".join(f"{name} {glob}" for name, glob in stated.items() if glob != "*")


def judged(verdict: Verdict, skips: Sequence[AllowedSkip], today: date | None = None) -> Verdict:
    """Return the verdict, expected if an allowed skip that has not expired covers it."""
    if verdict.green or not (covering := [skip for skip in skips if skip.covers(verdict)]):
        return verdict
    allowed = next((skip for skip in covering if not skip.expired(today)), None)
    if allowed is None:
        last = max(covering, key=lambda one: one.expires)
        said = f"tolerated until {last.expires} only ({last.owner}: {last.reason}): {verdict.reason}"
        return replace(verdict, reason=said)
    said = f"tolerated until {allowed.expires} ({allowed.owner}: {allowed.reason}): {verdict.reason}"
    return replace(verdict, reason=said, expected=True)


_STATED = re.compile(r"tolerated until (\d{4}-\d\d-\d\d) \((.*?): (.*?)\): ", re.DOTALL)


def stated_in(verdict: Verdict) -> tuple[str, str, str] | None:
    """Return expiry, owner and reason of the allowed skip that made a verdict expected; None if none did."""
    match = _STATED.match(verdict.reason) if verdict.outcome is Outcome.NOT_RUN and verdict.expected else None
    return (match[1], match[2], match[3]) if match else None


def today_utc() -> date:
    return datetime.now(timezone.utc).date()
