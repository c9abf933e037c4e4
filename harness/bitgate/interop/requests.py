"""Requests of ``bitgate verify`` that cases and lists of them make: problem, reference and data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.interop import (
    Controls,
    Refused,
    Understood,
    controls_of,
    found_in_case,
    found_in_list,
    is_foreign,
    one_line,
)
from bitgate.model import Problem, ProblemError

OF_VERIFICATION = ("none", "auto", "gpu")
"""The reference that CK's verification mode means: 0 none, 1 on the CPU, 2 the naive kernel on the device."""
OF_INIT = ("exact", "exact", "decimal")
"""The data that CK's initialisation means: 1 integers, 2 decimals; by none, zeros, any kernel would be right."""


@dataclass(frozen=True)
class CommandOptions:
    """Options of the command line that override what cases say; None where it says nothing."""

    reference: str | None
    fill: str | None


@dataclass(frozen=True)
class RequestedCase:
    """A problem, the reference that it is compared with, and its data; ``note``: in what it differs from its line's."""

    problem: Problem
    reference: str
    fill: str
    note: str = ""


def requested_in(path: Path, stated: CommandOptions) -> tuple[list[RequestedCase], list[Refused]]:
    """Return what a list requests, and its refused lines. UsageError if it cannot be read."""
    listed: list[RequestedCase] = []
    refused: list[Refused] = []
    try:
        for entry in found_in_list(path):
            if isinstance(entry, Refused):
                refused.append(entry)
                continue
            try:
                listed.append(_wanted(entry, stated))
            except ProblemError as error:
                refused.append(Refused(entry.where, str(error).removeprefix(f"{one_line(entry.line)}: ")))
    except OSError as error:
        raise UsageError(f"--cases {path} cannot be read: {error.strerror}") from None
    return listed, refused


def requested_by(case: str, stated: CommandOptions) -> Iterator[RequestedCase]:
    """Yield the problems of a case, each as it is to be run if nothing else is said."""
    try:
        yield from [_wanted(entry, stated) for entry in found_in_case(case)]
    except ProblemError as error:
        raise UsageError(str(error)) from None


def _wanted(entry: Understood, stated: CommandOptions) -> RequestedCase:
    controls = controls_of(entry.line) if is_foreign(entry.line) else None
    fill = stated.fill or ("exact" if controls is None else OF_INIT[controls.init])
    reference = stated.reference or reference_of(entry.problem, controls, fill)
    return RequestedCase(entry.problem, reference, fill, entry.note)


def reference_of(problem: Problem, controls: Controls | None, fill: str = "exact") -> str:
    """Return what a line's problem is compared with.

    The naive kernel takes no split-K. Of other data than integers its bits are those of its order of summation.
    """
    named = "auto" if controls is None else OF_VERIFICATION[controls.verification]
    return "auto" if named == "gpu" and (problem.is_split or fill != "exact") else named
