"""Errors that end a command with exit code 2 and one line: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(Exception):
    """A bad argument, file or environment. The message is for the user; no traceback is shown."""


class NoBoundError(UsageError):
    """A request for real numbers of an operation that states no bound for them: the verdict is NOT_RUN."""


def near(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: ``did you mean 'x'?``, or the whole list."""
    names = list(known)
    return meant(name, names).removeprefix("; ") or f"known are {', '.join(names) or 'none'}"


def meant(name: str, known: Iterable[str], cutoff: float = 0.4) -> str:
    """Return ``; did you mean 'x'?``, or nothing if no name is as near as ``cutoff`` (1: equal)."""
    close = get_close_matches(name, list(known), 1, cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""
