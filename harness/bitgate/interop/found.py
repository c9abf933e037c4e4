"""Contents of a list of foreign lines: problems and refused lines, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.interop.perf_request import PerfRequest
from bitgate.model.problem import Problem, ProblemError
from bitgate.model.space.table import Refused as Refused


@dataclass(frozen=True)
class Understood:
    """Problem that was understood, with how to time it.

    ``line`` is the command line that asks for the problem, where one does: it may say how to run it, too. ``perf`` is
    what benchdnn's options say of the timing; elsewhere the line says that itself. ``note`` says in what the problem
    differs from the line's.
    """

    where: str
    problem: Problem
    line: str = ""
    perf: PerfRequest | None = None
    note: str = ""


Found = Understood | Refused


def one_line(text: str) -> str:
    """Join a command line over several lines, as errors quote it."""
    return " ".join(text.split())


def all_understood(found: Iterable[Found]) -> tuple[Problem, ...]:
    """Return the problems. ProblemError, with the first refusal and the number of others, or if there is none."""
    entries = tuple(found)
    refused = [entry for entry in entries if isinstance(entry, Refused)]
    if refused:
        first = refused[0]
        where = f"{first.where}: " if first.where else ""
        more = f" (and {len(refused) - 1} more; a list is read by --cases FILE)" if len(refused) > 1 else ""
        raise ProblemError(f"{where}{first.reason}{more}")
    if not entries:
        raise ProblemError("no problem descriptor (mb..ic..ih..oc.., MxK:KxN) found")
    return tuple(entry.problem for entry in entries if isinstance(entry, Understood))


@dataclass(frozen=True)
class RefusalReason:
    """Reason why lines were refused, with their number and the place of the first."""

    reason: str
    count: int
    first: str

    def as_json(self) -> dict[str, Any]:
        return {"reason": self.reason, "count": self.count, "first": self.first}


def reasons(refused: Iterable[Refused]) -> tuple[RefusalReason, ...]:
    """Refusals by their reason, the most frequent first."""
    counts: dict[str, list[str]] = {}
    for entry in refused:
        counts.setdefault(_kind(entry.reason), []).append(entry.where)
    found = (RefusalReason(reason, len(places), places[0]) for reason, places in counts.items())
    return tuple(sorted(found, key=lambda reason: -reason.count))


MOST_TOLD = 10
NO_LINE = "neither a case id nor a command line of "
"""Text about a line that follows the line itself."""


def in_words(refused: Sequence[Refused], read: int) -> list[str]:
    """Lines for people: how many of all that was read were refused, then why, the most frequent reason first."""
    if not refused:
        return []
    listed = reasons(refused)
    lines = [f"refused: {len(refused)} of {len(refused) + read}, not looked at"]
    lines += [f"  {entry.count} x {entry.reason} (first: {entry.first})" for entry in listed[:MOST_TOLD]]
    if rest := listed[MOST_TOLD:]:
        lines.append(f"  {sum(entry.count for entry in rest)} x for {len(rest)} other reasons (all: --json)")
    return lines


def _kind(reason: str) -> str:
    """Return a reason without the descriptor or line that it was given for, so that equal ones are counted together."""
    if reason.startswith("'") and NO_LINE in reason:
        return f"it is {NO_LINE}{reason.rpartition(NO_LINE)[2]}"
    subject, colon, rest = reason.partition("': ")
    return rest if colon and subject.startswith("descriptor '") else reason
