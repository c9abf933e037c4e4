"""Selection of the cases of a plan whose verdict one of the changed files may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bitgate.lab.ci.select_changes import FileChange
from bitgate.lab.ci.select_reach import Reach, union
from bitgate.lab.ci.select_rules import ProjectFacts, SelectionReason, reason
from bitgate.results.plan import Plan, PlannedItem


@dataclass(frozen=True)
class CaseSelection:
    """The cases of one target's plan that the changes reach; ``reasons``: one a changed file."""

    plan: Plan
    reasons: tuple[SelectionReason, ...]

    @cached_property
    def items(self) -> tuple[PlannedItem, ...]:
        """The selected cases in the plan's order."""
        return reached_items(self.plan, union(one.reach for one in self.reasons))

    @cached_property
    def _counts(self) -> dict[Reach, int]:
        return {reach: len(reached_items(self.plan, reach)) for reach in {one.reach for one in self.reasons}}

    def cases(self, one: SelectionReason) -> int:
        """Return the number of cases that a file selects by itself."""
        return self._counts[one.reach]

    @property
    def share(self) -> float:
        """The selected share of the plan's cases, 0 to 1."""
        return len(self.items) / len(self.plan.cases) if self.plan.cases else 0.0

    def write(self, path: Path) -> None:
        """Write the ids, one a line, for ``bitgate run --select``; an empty file if nothing is selected."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{item.id}\n" for item in self.items))

    def as_json(self, folder: Path) -> dict[str, Any]:
        """Return the JSON form; files below ``folder`` are named relative to it."""
        return {
            "target": self.plan.target,
            "tier": self.plan.tier,
            "selected": len(self.items),
            "planned": len(self.plan.cases),
            "share": round(self.share, 4),
            "seconds": round(sum(item.seconds for item in self.items), 3),
            "files": [
                {
                    "file": shown(one.change.path, folder),
                    "rules": [rule.name for rule in one.rules],
                    "why": one.why,
                    "reaches": one.reach.words,
                    "cases": self.cases(one),
                }
                for one in self.reasons
            ],
        }


def select(plan: Plan, facts: ProjectFacts, changes: Iterable[FileChange]) -> CaseSelection:
    return CaseSelection(plan, tuple(reason(facts, change) for change in changes))


def selectors(item: PlannedItem, facts: ProjectFacts, files: Sequence[Path]) -> tuple[SelectionReason, ...]:
    """Return those of the files that would select a case if all their contents changed."""
    reasons = (reason(facts, FileChange(path)) for path in files)
    return tuple(one for one in reasons if one.reach.holds(item))


def reached_items(plan: Plan, reach: Reach) -> tuple[PlannedItem, ...]:
    return tuple(item for item in plan.cases if reach.holds(item))


def shown(path: Path, folder: Path) -> str:
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()
