"""Errors that end a command with exit code 2 and one line: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from types import TracebackType


class UsageError(Exception):
    """A bad argument, file or environment. The message is for the user; no traceback is shown."""


class NoBoundError(UsageError):
    """A request for real numbers of an operation that states no bound for them: the verdict is NOT_RUN."""


def text_of(value: object) -> str:
    """Return a value's text, or that it has none: a user's class makes it, and may raise anything."""
    try:
        return str.__str__(str(value) if isinstance(value, (str, BaseException)) else repr(value))
    except BaseException:
        return f"(a {_type_name(value)} without text)"


def raised(error: BaseException) -> str:
    """Return the type and the text of what a user's code raised."""
    return f"{_type_name(error)}: {text_of(error)}"


def traceback_of(error: BaseException) -> TracebackType | None:
    """Return the traceback of what a user's code raised, whatever its class makes of the attribute."""
    found: TracebackType | None = vars(BaseException)["__traceback__"].__get__(error)
    return found


def exit_status(error: BaseException) -> int | None:
    """Return the status that a SystemExit asks for; None for another one, or if it asks for none that is a number."""
    code: object = vars(SystemExit)["code"].__get__(error) if isinstance(error, SystemExit) else ""
    return 0 if code is None else code if type(code) is int else None


def _type_name(value: object) -> str:
    return str.__str__(vars(type)["__name__"].__get__(type(value)))


def near(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: ``did you mean 'x'?``, or the whole list."""
    names = list(known)
    return meant(name, names).removeprefix("; ") or f"known are {', '.join(names) or 'none'}"


def meant(name: str, known: Iterable[str], cutoff: float = 0.4) -> str:
    """Return ``; did you mean 'x'?``, or nothing if no name is as near as ``cutoff`` (1: equal)."""
    close = get_close_matches(name, list(known), 1, cutoff)
    return f"; did you mean '{close[0]}'?" if close else ""
