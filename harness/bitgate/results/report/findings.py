"""Findings about a run itself, always red: something is lost, damaged, duplicated or of another run.

Targets without a machine are listed with them: they are not failures, but always reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The kinds of findings, and what each means to a reader.
KINDS: dict[str, str] = {
    "LostShard": "a shard left no results",
    "Unreadable": "a file or a line of it is damaged",
    "Unplanned": "a result that the plan does not have",
    "Duplicated": "two jobs ran the same case, and nothing says which of them is the later attempt",
    "OtherPlan": "shards of different plans",
    "OtherTier": "results of different tiers",
    "OtherCommit": "results of different commits",
    "OtherBuild": "different builds of one kernel library",
    "ForeignTests": "tests of another harness failed, or none of them ran",
    "ExpiredGap": "a gap of a target that should be filled by now",
}

SHOWN = 3


@dataclass(frozen=True)
class RunFinding:
    """A defect of a run: ``kind`` is one of KINDS, ``sentence`` says what, where, and what to do.

    ``target`` is empty if the finding is about the whole run.
    """

    kind: str
    sentence: str
    target: str = ""

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind


def some(names: Iterable[object]) -> str:
    """Format the first few names, in order, and how many more there are."""
    listed = sorted({str(name) for name in names})
    more = len(listed) - SHOWN
    return ", ".join(listed[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def distinct(values: Iterable[str]) -> list[str]:
    """Return the known values, each once, sorted."""
    return sorted({value for value in values if value not in ("", "unknown")})


def format_findings(findings: Sequence[RunFinding]) -> str:
    """Format findings for a headline."""
    return f"{len(findings)} findings about the run itself: {findings[0].sentence}" if findings else ""


@dataclass(frozen=True)
class MissingTarget:
    """A promised target that did not run for lack of a machine; ``reason`` is that of the run's matrix."""

    target: str
    reason: str


def format_absent(absent: Sequence[MissingTarget]) -> str:
    """Format missing targets for a headline."""
    return "not run: " + ", ".join(f"{one.target} ({one.reason})" for one in absent) if absent else ""
