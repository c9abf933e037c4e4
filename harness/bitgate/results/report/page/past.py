"""The past of a run's failures as plain data: a page shows it, and a command that reads a history makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bitgate.results.record import Key

TestedKey = tuple[Key, str]
"""A key, and the test that ran it."""


@dataclass(frozen=True)
class CasePast:
    """The past of a failure: ``state`` is new, known or flaky.

    ``since`` is the run since which it is red, empty for this one. ``good_run`` is the last good run before that,
    ``good`` and ``bad`` are commits, and ``commits`` the newest of the ``count`` commits between.
    """

    state: str
    since: str = ""
    good_run: str = ""
    good: str = ""
    bad: str = ""
    commits: tuple[str, ...] = ()
    count: int = 0

    @property
    def words(self) -> str:
        """Return what is known, on one line."""
        found = [self.state, f"red since {self.since}" if self.since else "first red in this run"]
        found.append(f"last good run {self.good_run}" if self.good_run else "no good run is known")
        return ", ".join(found)


@dataclass(frozen=True)
class FixedCase:
    """A case that was red in the history and is green now."""

    case: str
    kernel: str
    target: str
    was: str
    run: str


@dataclass(frozen=True)
class RunPast:
    """The answer of a history about a run; ``against`` names it."""

    against: str = ""
    cases: Mapping[TestedKey, CasePast] = field(default_factory=dict)
    fixed: tuple[FixedCase, ...] = ()
