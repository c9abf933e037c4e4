"""The problems of an operation that suites ask for, whatever kernel is to take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bitgate.core.choices import SMOKE
from bitgate.core.errors import UsageError, near
from bitgate.model import Problem, operations
from bitgate.suite.expand import ExpandedCase, expand
from bitgate.suite.row import NEVER, CaseRow
from bitgate.suite.table import load_set, set_names


def problems_of(operation: str, tier: str, tables: Iterable[Path]) -> list[Problem]:
    """Return the problems of a tier in the order of the suites, each once, without those that are to be refused.

    UsageError for an unknown operation, and if no suite has such a case.
    """
    if operation not in operations():
        raise UsageError(f"operation {operation}: {near(operation, operations())}")
    expanded = (one for row in _rows(operation, tables) for one in _of_tier(row, tier))
    found = {one.case: one.problem for one in expanded if one.problem.operation.name == operation}
    if not found:
        raise UsageError(f"no suite has a case of {operation} in {tier}")
    return list(found.values())


def _rows(operation: str, tables: Iterable[Path]) -> Iterator[CaseRow]:
    """Yield the rows that may have cases of an operation: to parse the others' would take long."""
    for row in (row for table in tables for name in set_names(table) for row in load_set(table, name)):
        stated = [row.axes, *({name: (one,) for name, one in step.items()} for step in row.locked)]
        words = [word for axes in stated for name in ("pass", "case") for word in axes.get(name, ())]
        if not row.refused and any(f"{word}_".startswith(f"{operation}_") for word in words):
            yield row


def _of_tier(row: CaseRow, tier: str) -> Iterator[ExpandedCase]:
    tiers = {*row.tier.values()} - {NEVER}
    if tiers and (tier != SMOKE or SMOKE in tiers):
        yield from (one for one in expand(row) if one.in_smoke or tier != SMOKE)
