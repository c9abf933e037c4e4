"""The trial of a mutant: the first of the cases that reach its place which turns red, if any does.

A mutant under a condition is first shown: a drawn case turns red with its edit, and the condition is drawn from the
facts of that case. So each such mutant is one that a problem shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from random import Random
from time import monotonic
from typing import Any

from bitgate.model.facts import Facts
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.faults.mutation.condition import draw_condition
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.switch import OFF
from bitgate.tools.faults.mutation.switching import Steps, SwitchedProcess
from bitgate.tools.faults.trial import REDS_UNTIL_DIAGNOSED
from bitgate.verify.planned import repro_line
from bitgate.verify.process import CaseRequest

MOST_SHOWS = 24
"""Drawn cases that a conditional mutant's edit is tried on."""
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
    NOT_SHOWN = "not shown"
    """Conditional, and no drawn case turns red with the edit: probably the same program in other words."""
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
    """A mutant's trial. ``by``: the test that killed it; ``cases``: how many reached its place and meet its condition.

    Of a survivor ``shown_by`` is the command of a drawn case that is red with it, empty if all ``drawn`` are green.
    """

    mutant: Mutant
    family: str
    fate: Fate
    cases: int = 0
    by: str = ""
    verdict: str = ""
    kinds: tuple[str, ...] = ()
    sentence: str = ""
    seconds: float = 0.0
    shown_by: str = ""
    drawn: int = 0

    @property
    def is_shown(self) -> bool:
        """Is there a case, of the tier or drawn, that is red with it?"""
        return self.fate.is_kill or bool(self.shown_by)

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
            "class": mutant.operator_class,
            "condition": mutant.condition,
            "original": mutant.original,
            "mutated": mutant.mutated,
            "cases": self.cases,
            "kinds": list(self.kinds),
            "sentence": self.sentence,
            "shown_by": self.shown_by,
            "drawn": self.drawn,
        }


@dataclass(frozen=True)
class MeasuredCase:
    """A case without a mutant: its verdict, the time it takes, the mutants that it reaches, and its facts."""

    question: CaseRequest
    verdict: Verdict
    seconds: float
    reached: frozenset[int] = field(default_factory=frozenset)
    facts: Facts = field(default_factory=dict)

    def bounded(self, limit: float) -> CaseRequest:
        seconds = min(limit, max(LEAST_SECONDS, TIMES_AS_LONG * self.seconds))
        return replace(self.question, seconds=seconds)


@dataclass(frozen=True)
class ReachingCases:
    """The cases that reach a mutant's place: those of the tier, and drawn ones."""

    tier: Sequence[MeasuredCase]
    drawn: Sequence[MeasuredCase]

    def of(self, number: int) -> ReachingCases:
        tier, drawn = ([case for case in cases if number in case.reached] for cases in (self.tier, self.drawn))
        return ReachingCases(tier, drawn)


def trial(
    process: SwitchedProcess,
    number: int,
    mutant: Mutant,
    family: str,
    cases: ReachingCases,
    limit: float,
    expected: str = "",
) -> Steps[MutantTrial]:
    """Run the tier's cases from the shortest on, until one is red; where none is, look for a drawn one that is.

    Where a kind is ``expected`` of the diagnosis, go on until a red case names it, or twenty are red.
    """
    begun = monotonic()

    rng = Random(mutant.digest)
    drawn = rng.sample(cases.drawn, len(cases.drawn))
    tier, shown = cases.tier, None

    def ended(
        fate: Fate, mutant: Mutant = mutant, count: int = 0, red: Verdict | None = None, shown_by: str = ""
    ) -> MutantTrial:
        diagnosis = red.diagnosis if red else None
        return MutantTrial(
            mutant,
            family,
            fate,
            cases=count,
            by=(red.test or red.key.case) if red else "",
            verdict=red.outcome.value if red else "",
            kinds=diagnosis.kinds if diagnosis else (),
            sentence=(diagnosis.sentence if diagnosis else red.reason) if red else "",
            seconds=monotonic() - begun,
            shown_by=shown_by,
            drawn=len(drawn),
        )

    if mutant.is_conditional:
        if not drawn:
            return ended(Fate.NOT_REACHED)
        shown, _ = yield from _first_red(process, number, drawn[:MOST_SHOWS], limit)
        condition = draw_condition(shown.facts, [case.facts for case in drawn], rng) if shown else None
        if condition is None:
            return ended(Fate.NOT_SHOWN)
        mutant = replace(mutant, condition=str(condition))
        tier = [case for case in tier if condition.holds(case.facts)]
    elif not tier and not drawn:
        return ended(Fate.NOT_REACHED)
    rest = iter(sorted(tier, key=lambda case: case.seconds))
    _, red = yield from _first_red(process, number, rest, limit)
    if red is not None:
        for _ in range(REDS_UNTIL_DIAGNOSED - 1):
            if not expected or _names(red, expected):
                break
            _, other = yield from _first_red(process, number, rest, limit)
            red = other if other is not None and _names(other, expected) else red
        return ended(Fate.TIMEOUT if _is_late(red) else Fate.KILLED, mutant, len(tier), red)
    if not mutant.is_conditional:
        shown, _ = yield from _first_red(process, number, drawn, limit)
    return ended(Fate.SURVIVED, mutant, len(tier), shown_by=repro_line(shown.question.planned) if shown else "")


def _first_red(
    process: SwitchedProcess, number: int, cases: Iterable[MeasuredCase], limit: float
) -> Steps[tuple[MeasuredCase | None, Verdict | None]]:
    """Return the first case that is red with the mutant, and its verdict.

    A case that is red where other mutants ran before must be green there without this one, or red in a new process. One
    that is late must be in time with no mutant on.
    """
    for case in cases:
        question = case.bounded(limit)
        process.turn(question.planned, number)
        before, was_shared = process.number, process.is_shared
        verdict = yield question
        if is_red(verdict) and was_shared and not (yield from _is_sound(process, question, before)):
            process.end()
            process.turn(question.planned, number)
            verdict = yield question
        if is_red(verdict) and not (_is_late(verdict) and (yield from _is_slow(process, question))):
            return case, verdict
    return None, None


def _is_slow(process: SwitchedProcess, question: CaseRequest) -> Steps[bool]:
    """Say whether a case is late with no mutant on too, as on a machine that is busy now."""
    process.turn(question.planned, OFF)
    verdict = yield question
    return not verdict.green


def _is_sound(process: SwitchedProcess, question: CaseRequest, before: int) -> Steps[bool]:
    """Say whether the process is still running, and gives a green verdict with no mutant on."""
    if process.number != before:
        return False
    process.turn(question.planned, OFF)
    verdict = yield question
    return verdict.green and process.number == before


def _names(red: Verdict, kind: str) -> bool:
    return red.diagnosis is not None and kind in red.diagnosis.kinds


def is_red(verdict: Verdict) -> bool:
    """Say whether a verdict is red; a machine that breaks shows nothing about a mutant."""
    return not verdict.green and not verdict.outcome.is_unanswered


def _is_late(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.HUNG or "it spins" in verdict.reason
