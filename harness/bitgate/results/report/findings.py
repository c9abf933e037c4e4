"""Findings about a run itself, always red: something is lost, damaged, duplicated or of another run.

Targets without a machine are listed with them: they are not failures, but always reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# What can be found, and what it means for whoever reads it.
KINDS: dict[str, str] = {
    "LostShard": "a shard left no results",
    "Unreadable": "a file or a line of it is damaged",
    "Unplanned": "a result that the plan does not have",
    "Duplicated": "two jobs ran the same case, and nothing says which of them is the later attempt",
    "OtherPlan": "shards of different plans",
    "OtherTier": "results of different tiers",
    "OtherCommit": "results of different commits",
    "OtherBuild": "different builds of one kernel library",
    "ExpiredGap": "a gap of a target that should be filled by now",
}

SHOWN = 3


@dataclass(frozen=True)
class RunFinding:
    """``kind`` is one of KINDS; ``sentence`` says what, where, and what to do. ``target`` is empty for a whole run."""

    kind: str
    sentence: str
    target: str = ""

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind


def some(names: Iterable[object]) -> str:
    """The first few names, in order, and how many more there are."""
    listed = sorted({str(name) for name in names})
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def distinct(values: Iterable[str]) -> list[str]:
    """The values that are known, each once."""
    return sorted({value for value in values if value not in ("", "unknown")})


def format_findings(findings: Sequence[RunFinding]) -> str:
    """For a headline."""
    return f"{len(findings)} findings about the run itself: {findings[0].sentence}" if findings else ""


@dataclass(frozen=True)
class MissingTarget:
    """``reason`` says why, as the matrix of the run gives it."""

    target: str
    reason: str


def format_absent(absent: Sequence[MissingTarget]) -> str:
    """For a headline."""
    return "not run: " + ", ".join(f"{one.target} ({one.reason})" for one in absent) if absent else ""
