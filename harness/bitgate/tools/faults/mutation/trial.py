"""The trial of a mutant: the first of the cases that reach its place which turns red, if any does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from time import monotonic
from typing import Any

from bitgate.results.record import Outcome, Verdict
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.schema import OFF
from bitgate.tools.faults.mutation.switching import Steps, SwitchedProcess
from bitgate.verify.process import CaseRequest

LEAST_SECONDS, TIMES_AS_LONG = 10.0, 30.0
"""Limits of a case with a mutant: machines are shared, and so are their clocks."""


class Fate(str, Enum):
    """The result of a mutant's trial."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    """Killed by a case that did not end."""
    SURVIVED = "survived"
    NOT_REACHED = "not reached"
    """No case executes its place, or the compiler has evaluated it."""
    NOT_COMPILABLE = "not compilable"

    @property
    def is_kill(self) -> bool:
        return self in (Fate.KILLED, Fate.TIMEOUT)

    @property
    def counts(self) -> bool:
        """True for a fate that is a part of the score."""
        return self.is_kill or self is Fate.SURVIVED


@dataclass(frozen=True)
class MutantTrial:
    """A mutant's trial. ``by``: the test that killed it; ``cases``: how many reached its place."""

    mutant: Mutant
    family: str
    fate: Fate
    cases: int = 0
    by: str = ""
    verdict: str = ""
    kinds: tuple[str, ...] = ()
    sentence: str = ""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        mutant = self.mutant
        return {
            "name": mutant.name,
            "killed": self.fate.is_kill,
            "by": self.by,
            "verdict": self.verdict,
            "diagnosis": next(iter(self.kinds), ""),
            "seconds": round(self.seconds, 3),
            "fate": self.fate.value,
            "family": self.family,
            "file": mutant.file,
            "line": mutant.line,
            "column": mutant.column,
            "operator": mutant.operator,
            "original": mutant.original,
            "mutated": mutant.mutated,
            "cases": self.cases,
            "kinds": list(self.kinds),
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class GreenCase:
    """A case that is green without a mutant, the time it takes, and the mutants that it reaches."""

    question: CaseRequest
    verdict: Verdict
    seconds: float
    reached: frozenset[int] = field(default_factory=frozenset)

    def bounded(self, limit: float) -> CaseRequest:
        seconds = min(limit, max(LEAST_SECONDS, TIMES_AS_LONG * self.seconds))
        return replace(self.question, seconds=seconds)


def trial(
    process: SwitchedProcess, number: int, mutant: Mutant, family: str, reaching: Sequence[GreenCase], limit: float
) -> Steps[MutantTrial]:
    """Run the cases from the shortest on, until one is red.

    A case that is red where other mutants ran before must be green there without this one, or red in a new process.
    """
    begun = monotonic()
    fate, red = (Fate.SURVIVED if reaching else Fate.NOT_REACHED), None
    for case in sorted(reaching, key=lambda sound: sound.seconds):
        question = case.bounded(limit)
        process.turn(question.planned, number)
        before, was_shared = process.number, process.is_shared
        verdict = yield question
        if _is_red(verdict) and was_shared and not (yield from _is_sound(process, question, before)):
            process.end()
            process.turn(question.planned, number)
            verdict = yield question
        if _is_red(verdict):
            red, fate = verdict, Fate.TIMEOUT if _is_late(verdict) else Fate.KILLED
            break
    diagnosis = red.diagnosis if red else None
    return MutantTrial(
        mutant,
        family,
        fate,
        cases=len(reaching),
        by=(red.test or red.key.case) if red else "",
        verdict=red.outcome.value if red else "",
        kinds=diagnosis.kinds if diagnosis else (),
        sentence=(diagnosis.sentence if diagnosis else red.reason) if red else "",
        seconds=monotonic() - begun,
    )


def _is_sound(process: SwitchedProcess, question: CaseRequest, before: int) -> Steps[bool]:
    """Say whether the process is still running, and gives a green verdict with no mutant on."""
    if process.number != before:
        return False
    process.turn(question.planned, OFF)
    verdict = yield question
    return verdict.green and process.number == before


def _is_red(verdict: Verdict) -> bool:
    """Say whether a verdict is red; a machine that breaks shows nothing about a mutant."""
    return not verdict.green and not verdict.outcome.is_unanswered


def _is_late(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.HUNG or "it spins" in verdict.reason
