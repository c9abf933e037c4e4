"""A failure: the red case, the smallest that is still red, and changes that would make it pass."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.model import human
from bitgate.results.record import Outcome, Verdict, to_event
from bitgate.verify.planned import PlannedCase


@dataclass(frozen=True)
class FuzzFailure:
    """A red verdict with its origin: ``seconds`` since the fuzzing began, the ``lane`` and its round."""

    planned: PlannedCase
    verdict: Verdict
    seconds: float = 0.0
    lane: str = ""
    visit: int = 0

    @property
    def signature(self) -> tuple[str, str, str]:
        """The signature: failures that agree in it are taken for the same bug until the first has been examined."""
        return self.planned.key.kernel, *signature(self.verdict)


def is_failure(verdict: Verdict) -> bool:
    return not verdict.green and not verdict.outcome.is_unanswered


def signature(verdict: Verdict) -> tuple[str, str]:
    """Return roughly what is wrong: the outcome with the diagnosed kind, or that declaration and library disagree."""
    if verdict.outcome is Outcome.REFUSED:
        return verdict.outcome.value, "support"
    return verdict.outcome.value, verdict.diagnosis.kinds[0] if verdict.diagnosis else ""


@dataclass(frozen=True)
class Neighbour:
    """A problem that passes and differs from a failing one in one quantity: that quantity is part of the bug."""

    quantity: str
    fails: str
    passes: str
    distance: float
    planned: PlannedCase

    @property
    def words(self) -> str:
        return f"{self.quantity} {self.fails} fails, {self.passes} passes"


@dataclass(frozen=True)
class ShrunkFailure:
    """A failure after shrinking.

    ``planned`` is the smallest case found that fails as ``found`` does; ``neighbours`` pass, the nearest first.
    ``minimal``: no smaller case one step away fails; else time was up. ``tried`` counts verdicts.
    """

    found: FuzzFailure
    planned: PlannedCase
    verdict: Verdict
    neighbours: tuple[Neighbour, ...]
    minimal: bool
    tried: int
    seconds: float
    like_it: int = 0

    @property
    def multiply_adds(self) -> int:
        return self.planned.problem.flops // 2

    @property
    def sentence(self) -> str:
        return self.verdict.diagnosis.sentence if self.verdict.diagnosis else self.verdict.reason

    @property
    def name(self) -> str:
        return f"fuzz_{zlib.crc32(self.planned.id.encode()):08x}"

    def row(self) -> str:
        """Return a row for a case table."""
        planned = self.planned
        condition = f"; {self.neighbours[0].words}" if self.neighbours else ""
        fields: dict[str, Any] = {
            "name": self.name,
            "case": planned.case,
            "kernels": planned.kernel.name,
            "tier": "smoke",
            "pin": f"{self.verdict.outcome}: {self.sentence}",
            "why": f"found by bitgate fuzz{condition}",
        }
        if planned.fill != "exact":
            fields["fills"] = planned.fill
        if planned.seed:
            fields["seeds"] = planned.seed
        if planned.schedule != "forward":
            fields["schedules"] = planned.schedule
        lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
        if planned.kernel.options:
            options = ", ".join(f"{name} = {_toml(value)}" for name, value in planned.kernel.options)
            lines.append(f"options = {{ {options} }}")
        return "\n".join([f"# {human(planned.problem)}", "[[case]]", *lines]) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "found": self.found.planned.id,
            "found_after_seconds": round(self.found.seconds, 3),
            "found_by": {"lane": self.found.lane, "round": self.found.visit},
            "like_it": self.like_it,
            "id": self.planned.id,
            "case": self.planned.case,
            "kernel": self.planned.kernel.name,
            "multiply_adds": self.multiply_adds,
            "found_multiply_adds": self.found.planned.problem.flops // 2,
            "minimal": self.minimal,
            "tried": self.tried,
            "shrink_seconds": round(self.seconds, 3),
            "neighbours": [
                {"quantity": n.quantity, "fails": n.fails, "passes": n.passes, "case": n.planned.case}
                for n in self.neighbours
            ],
            "repro": self.verdict.repro,
            "row": self.row(),
            "verdict": to_event(self.verdict),
        }


def write_rows(path: Path, failures: Iterable[ShrunkFailure]) -> None:
    """Write the failures as a case table."""
    head = "# Found by bitgate fuzz. Copy a row into a suite's cases.toml: once fixed, it guards the fix.\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([head, *(failure.row() for failure in failures)]))


def _toml(value: object) -> str:
    """Format a value: strings and numbers are written alike in JSON and TOML."""
    return json.dumps(value, ensure_ascii=False)
