"""The registry of operations by name: one folder each in bitgate/ops, and those that a user's files add."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from bitgate.core.errors import UsageError
from bitgate.model.operation import Operation
from bitgate.model.problem import Problem, ProblemError

_added: dict[str, tuple[Operation, str]] = {}
"""The added operations by name, with the file that states each.

They are global to the process, since case ids are read everywhere in it, and one process serves one project.
"""


_ID = "_case_id"
"""Where a problem keeps its id."""


def operations() -> Mapping[str, Operation]:
    """Return all operations by name, bitgate's first."""
    return {**own_operations(), **{name: operation for name, (operation, _) in _added.items()}}


def add(operation: Operation, place: str) -> None:
    """Add an operation, whose cases are known from then on; UsageError if another one has its name."""
    _, where = _added.get(operation.name, (None, "bitgate itself"))
    if operation.name in operations() and where != place:
        raise UsageError(f"{place}: {where} has an operation '{operation.name}' already; rename yours")
    _added.setdefault(operation.name, (operation, place))


def places() -> tuple[str, ...]:
    """Return the files that state the added operations."""
    return tuple(place for _, place in _added.values())


def stated_in(file: Path) -> tuple[str, ...]:
    """Return the names of the added operations that a file states."""
    return tuple(name for name, (_, place) in _added.items() if Path(place) == file)


@lru_cache(maxsize=1)
def own_operations() -> Mapping[str, Operation]:
    """Return bitgate's operations, which the folders of bitgate/ops state as ``OPERATIONS``."""
    package = import_module("bitgate.ops")
    folders = sorted(module.name for module in iter_modules(package.__path__))
    found = (import_module(f"{package.__name__}.{name}").OPERATIONS for name in folders)
    return {operation.name: operation for every in found for operation in every}


def operation_called(name: str) -> Operation:
    """Return the operation of a name, or raise KeyError.

    Every look at a problem's operation calls this, so nothing is built here.
    """
    own = own_operations().get(name)
    return own if own is not None else _added[name][0]


def parse_case_id(text: str) -> Problem:
    """Return the problem of a case id; defaults may be left out. ProblemError names the part that is wrong."""
    check_numbers(text)
    if not text.isascii():  # digits of other scripts are digits to int(), and one case would have many ids
        raise ProblemError(f"case '{text}': an id is made of a-z, 0-9 and _")
    rest = text.strip()
    name = next((name for name in _longest_first(tuple(_added)) if rest.startswith(f"{name}_")), None)
    if name is None:
        raise ProblemError(f"case '{text}': starts with none of {', '.join(operations())}")
    return operation_called(name).parse(text, rest[len(name) + 1 :].split("_"))


@lru_cache(maxsize=4)
def _longest_first(added: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of all operations, bitgate's and those that were ``added``, the longest first."""
    return tuple(sorted(operations(), key=len, reverse=True))


def case_id(problem: Problem) -> str:
    """Return the canonical id: every field written, characters ``[a-z0-9_]`` only.

    A problem keeps it: plans, caches and messages ask for it again and again.
    """
    known: dict[str, str] = vars(problem)
    if _ID not in known:
        known[_ID] = problem.operation.spell(problem)
    return known[_ID]


def human(problem: Problem) -> str:
    """Return the problem for people: ``bwd_data f16 NHWGC G=1 N=4 K=128 C=64 3x3 28x28 s3 p1 -> 9 sub-GEMMs``."""
    return problem.operation.human(problem)


def foreign_line(problem: Problem) -> str | None:
    """Return the problem as a command line of another harness, where one can express it."""
    line: str | None = import_module("bitgate.interop.dialect").foreign_line(problem)
    return line


def check_numbers(text: str) -> None:
    """Raise ProblemError for a number too long for a size: Python refuses to read one of thousands of digits."""
    if found := re.search(r"\d{30}", text):
        raise ProblemError(f"'{found[0]}...' is no size: a number has at most 29 digits here")


__all__ = [
    "case_id",
    "check_numbers",
    "foreign_line",
    "human",
    "operation_called",
    "operations",
    "parse_case_id",
]
