"""Errors that end a command with exit code 2 and one line: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(Exception):
    """A bad argument, file or environment. The message is for the user; no traceback is shown."""


class NoBoundError(UsageError):
    """Real numbers are asked for of an operation that states no bound for them: a verdict says NOT_RUN."""


def near(name: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` or the whole list: the end of a message about an unknown name."""
    names = list(known)
    return meant(name, names).removeprefix("; ") or f"known are {', '.join(names) or 'none'}"


def meant(name: str, known: Iterable[str], cutoff: float = 0.4) -> str:
    """``; did you mean 'x'?``, or nothing if no name is as near as that (1: the same)."""
    close = get_close_matches(name, list(known), 1, cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""
