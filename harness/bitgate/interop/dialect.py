"""Dialects of other harnesses: each registers itself for operations, which know of none.

A module in ``bitgate.interop.<operation>`` states its dialect as ``DIALECT``; nothing else names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from bitgate.interop.program import BenchdnnDriver, Program
from bitgate.model.space.table import TableReader

PACKAGE = "bitgate.interop"


@dataclass(frozen=True)
class Dialect:
    """Files and command lines of another harness, and the names of the ``operations`` whose problems they state.

    ``programs``: readers of command lines, by the begin of the program's name. ``drivers``: benchdnn's, by the option
    that names them. ``readers``: files that hold cases. ``line`` prints a problem back; None if it cannot be said.
    """

    operations: tuple[str, ...]
    programs: Mapping[str, Program] = field(default_factory=dict)
    drivers: Mapping[str, BenchdnnDriver] = field(default_factory=dict)
    readers: tuple[TableReader, ...] = ()
    line: Callable[[Any], str | None] | None = None


@lru_cache(maxsize=1)
def dialects() -> tuple[Dialect, ...]:
    """Return all dialects, by operation and name of their modules."""
    found = []
    for folder in sorted(one.name for one in iter_modules(import_module(PACKAGE).__path__) if one.ispkg):
        package = import_module(f"{PACKAGE}.{folder}")
        modules = sorted(one.name for one in iter_modules(package.__path__))
        loaded = (import_module(f"{package.__name__}.{name}") for name in modules)
        found += [module.DIALECT for module in loaded if hasattr(module, "DIALECT")]
    return tuple(found)


def table_readers() -> tuple[TableReader, ...]:
    """Return the readers of files that hold cases, of all dialects."""
    return tuple(reader for dialect in dialects() for reader in dialect.readers)


def foreign_line(problem: Any) -> str | None:
    """Return a problem as a command line of another harness; None where no dialect can state it."""
    name = problem.operation.name
    printers = (dialect.line for dialect in dialects() if dialect.line is not None and name in dialect.operations)
    return next((line for line in (printer(problem) for printer in printers) if line is not None), None)
