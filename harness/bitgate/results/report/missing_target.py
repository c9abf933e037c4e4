"""A target that is promised and did not run: no machine was there for it. Nobody's defect, and never left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MissingTarget:
    """``reason`` says why, as the matrix of the run gives it."""

    target: str
    reason: str


def format_absent(absent: Sequence[MissingTarget]) -> str:
    """For a headline."""
    return "not run: " + ", ".join(f"{one.target} ({one.reason})" for one in absent) if absent else ""
