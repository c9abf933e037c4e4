"""The reach of an edit: the planned cases whose verdict it may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from bitgate.results.plan import PlannedItem

NO_KERNEL = "none"
"""The kernel of a case that no kernel takes. Such a case is always red, and is selected with any other."""

SHOWN = 6


@dataclass(frozen=True)
class Reach:
    """A set of cases, as conditions of which one suffices; empty conditions select no case."""

    everything: bool = False
    families: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()
    """``family.instance``."""
    operations: frozenset[str] = frozenset()
    """Names, for people; ``cases`` has the problems they stand for."""
    cases: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    """Test modules, as node ids begin: ``suites/gemm/test_correctness.py``."""
    rows: frozenset[tuple[str, str]] = frozenset()
    """Suite, and ``file:line`` of the row."""
    timed: frozenset[str] = frozenset()
    """``<case>__<family>_<instance>__<fill>``, as durations are recorded."""

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, field.name) for field in fields(self))

    def holds(self, item: PlannedItem) -> bool:
        if self.everything:
            return True
        key = item.key
        if key.kernel == NO_KERNEL:
            return not self.is_empty
        return (
            key.kernel in self.families
            or f"{key.kernel}.{key.instance}" in self.instances
            or key.case in self.cases
            or (item.suite, item.row) in self.rows
            or item.test.partition("::")[0] in self.modules
            or (bool(self.timed) and f"{key.case}__{key.kernel}_{key.instance}__{key.fill}" in self.timed)
        )

    def __or__(self, other: Reach) -> Reach:
        merged: dict[str, Any] = {
            field.name: getattr(self, field.name) | getattr(other, field.name) for field in fields(self)
        }
        return Reach(**merged)

    @property
    def words(self) -> str:
        """The reach in words: ``families grouped_fwd, reduction; tests of suites/large/test_large.py``."""
        if self.everything:
            return "everything"
        return "; ".join(self._parts()) or "nothing"

    def _parts(self) -> Iterator[str]:
        if self.families:
            yield f"kernels of {_listed(self.families)}"
        if self.instances:
            yield f"instances {_listed(self.instances)}"
        if self.operations:
            yield f"cases of {_listed(self.operations)}"
        elif self.cases:
            yield f"problems {_listed(self.cases)}"
        if self.rows:
            yield f"rows {_listed(place for _, place in self.rows)}"
        if self.modules:
            yield f"tests of {_listed(self.modules)}"
        if self.timed:
            yield f"{len(self.timed)} timed cases"


NOTHING = Reach()
EVERYTHING = Reach(everything=True)


def union(reaches: Iterable[Reach]) -> Reach:
    found = NOTHING
    for reach in reaches:
        found |= reach
    return found


def _listed(names: Iterable[str]) -> str:
    """Format the first few names, and the number of the rest."""
    every = sorted(set(names))
    rest = f" and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    return ", ".join(every[:SHOWN]) + rest
