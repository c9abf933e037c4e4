"""Search for edits of a red case's sources with which it passes.

A first library has one edit on each line, which shows the lines that each case reaches. A second one has all edits on
the lines that all given cases reach. They are switched on one at a time, the most suspicious lines first.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from pathlib import Path
from random import Random
from time import monotonic

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.results.record import Outcome
from bitgate.tools.faults.locate.candidate import Localization, RepairCandidate
from bitgate.tools.faults.locate.repairs import REPAIRS, repair_makers
from bitgate.tools.faults.locate.scope import Members
from bitgate.tools.faults.locate.undiagnosed import JUDGE
from bitgate.tools.faults.mutation import library
from bitgate.tools.faults.mutation.baseline import measured
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.operators import OPERATORS, Maker
from bitgate.tools.faults.mutation.sources import population
from bitgate.tools.faults.mutation.switching import Steps, SwitchedProcess, drive, open_pool
from bitgate.tools.faults.mutation.trial import MeasuredCase, is_red
from bitgate.verify.process import BITS, CaseRequest, Opening

Line = tuple[str, int]

SAMPLED = 60
"""Other cases of the tier that show which lines green and red ones reach."""
MOST_REDS, MOST_GREENS, MOST_CONFIRMED = 8, 8, 40
"""Other cases that a candidate is confirmed on, and candidates that are."""
LEAST_SECONDS, TIMES_AS_LONG, MOST_SECONDS = 1.0, 10.0, 20.0
"""Limits of a case with an edit: one that takes longer is no repair."""


@dataclass(frozen=True)
class LocalizationSetup:
    """The setup of a localization.

    ``family``: the part of it that is built; ``given``: red cases; ``others``: cases of a tier; ``seconds``: limit of
    the search among edits; ``reached``: receives how many are tried, of how many.
    """

    builder: Builder
    family: KernelFamily
    project: Project
    opening: Opening
    given: Sequence[CaseRequest]
    others: Sequence[CaseRequest]
    seconds: float
    jobs: int
    say: Callable[[str], None]
    reached: Callable[[int, int], None]


def undiagnosed(question: CaseRequest) -> CaseRequest:
    """Return a question for a verdict that needs no diagnosis, and little time."""
    by = JUDGE if question.by == BITS else question.by
    return replace(question, by=by, seconds=min(question.seconds, MOST_SECONDS))


@dataclass(frozen=True)
class LineCase:
    """A case with the sources as they are: whether it is red, and the lines with edits that it reaches."""

    question: CaseRequest
    is_red: bool
    is_green: bool
    lines: frozenset[Line]


def locate(setup: LocalizationSetup, found: Localization) -> None:
    """Fill ``found``; what an interrupt leaves there is sound. Raises UsageError if a given case is not red here."""
    own = population(setup.builder, [setup.family], setup.project, "", (), _makers)
    edits = list({(one.file, one.start, one.end, one.mutated): one for one in sorted(own.families)}.values())
    with tempfile.TemporaryDirectory(prefix="bitgate-locate-", ignore_cleanup_errors=True) as folder:
        probes = {_line(edit): edit for edit in sorted(edits, key=_probe_order, reverse=True)}
        given, others = _watched(setup, list(probes.values()), own.paths, Path(folder))
        suspicion = _suspicion(given, others)
        near = interleaved([edit for edit in edits if _line(edit) in suspicion], suspicion)
        found.edits = len(near)
        if near:
            _try_edits(setup, near, own.paths, Path(folder), (given, others), suspicion, found)


def _makers(texts: Iterable[str]) -> Mapping[str, Maker]:
    return repair_makers(Members(texts))


def _line(edit: Mutant) -> Line:
    return edit.file, edit.line


def _probe_order(edit: Mutant) -> tuple[bool, int, int]:
    """Return a key that is least for the edit that shows best if its line is reached: it compiles, and is outermost."""
    return edit.operator not in OPERATORS or edit.operator == "axis", edit.start, -edit.end


def interleaved(edits: Iterable[Mutant], suspicion: Mapping[Line, float]) -> list[Mutant]:
    """Sort edits such that each of equally suspicious lines has its first one tried before any has its second one."""
    rank = {operator: place for place, operator in enumerate((*OPERATORS, *REPAIRS))}
    placed: Counter[Line] = Counter()
    order: dict[Mutant, tuple[float, int]] = {}
    for edit in sorted(edits, key=lambda edit: (edit.operator not in REPAIRS, rank[edit.operator], edit)):
        order[edit] = -suspicion[_line(edit)], placed[_line(edit)]
        placed[_line(edit)] += 1
    return sorted(order, key=lambda edit: (order[edit], edit))


def _watched(
    setup: LocalizationSetup, edits: Sequence[Mutant], paths: Mapping[str, Path], folder: Path
) -> tuple[list[LineCase], list[LineCase]]:
    """Return the given cases, and a sample of the others, by a library with one edit on each line."""
    others = Random(0).sample(setup.others, min(SAMPLED, len(setup.others)))
    setup.say(f"{setup.family.name}: a library that shows which of {len(edits)} lines a case reaches")
    built = library.build(setup.builder, setup.family, edits, paths, folder, setup.say, attributed=True)
    with open_pool(setup.opening, setup.jobs, setup.say, setup.family.name, built.overlay) as pool:
        found = [
            LineCase(
                _bounded(case),
                is_red(case.verdict),
                case.verdict.green,
                # A process that a case has ended cannot say which lines it reached: it may be any.
                frozenset(_line(built.mutants[number]) for number in case.reached or built.mutants),
            )
            for case in measured(pool, [*setup.given, *others], setup.say)
        ]
    given = found[: len(setup.given)]
    for case in given:
        if not case.is_red:
            planned = case.question.planned
            raise UsageError(
                f"{planned.case} on {planned.kernel.name} is red, and green when its sources have switches"
            )
    return given, found[len(given) :]


def _bounded(case: MeasuredCase) -> CaseRequest:
    usual = 0.0 if case.verdict.outcome is Outcome.HUNG else TIMES_AS_LONG * case.seconds
    return replace(case.question, seconds=min(MOST_SECONDS, max(LEAST_SECONDS, usual)))


def _suspicion(given: Sequence[LineCase], others: Sequence[LineCase]) -> dict[Line, float]:
    """Return Ochiai's measure of the lines that all given cases reach: 1 where all red cases are, and no green one."""
    reds = [*given, *(case for case in others if case.is_red)]
    greens = [case for case in others if case.is_green]
    found = {}
    for line in frozenset.intersection(*(case.lines for case in given)):
        red, green = (sum(line in case.lines for case in cases) for cases in (reds, greens))
        found[line] = red / sqrt(len(reds) * (red + green))
    return found


def _try_edits(
    setup: LocalizationSetup,
    edits: Sequence[Mutant],
    paths: Mapping[str, Path],
    folder: Path,
    cases: tuple[Sequence[LineCase], Sequence[LineCase]],
    suspicion: Mapping[Line, float],
    found: Localization,
) -> None:
    (given, others), say = cases, setup.say
    say(f"{setup.family.name}: a library of {len(edits)} edits on {len(suspicion)} lines")
    built = library.build(setup.builder, setup.family, edits, paths, folder, say, attributed=True)
    found.edits = len(built.mutants)
    with open_pool(setup.opening, setup.jobs, say, setup.family.name, built.overlay) as pool:
        end = monotonic() + setup.seconds
        attempts = (partial(_attempt, number=number, given=given, end=end) for number in built.mutants)
        for number, passes in drive(pool, attempts):
            found.tried += passes is not None
            setup.reached(found.tried, len(built.mutants))
            if passes:
                mutant = built.mutants[number]
                found.candidates.append(RepairCandidate(mutant, suspicion[_line(mutant)]))
        reds = [case for case in others if case.is_red][:MOST_REDS]
        greens = sorted(
            (case for case in others if case.is_green), key=lambda case: -len(case.lines & suspicion.keys())
        )
        numbers = {mutant: number for number, mutant in built.mutants.items()}
        best = sorted(found.candidates, key=lambda one: one.order)[:MOST_CONFIRMED]
        say(f"{len(found.candidates)} edits of {found.tried} pass: {len(best)} of them on other cases")
        jobs = (
            partial(_confirm, number=numbers[one.mutant], one=one, reds=reds, greens=greens[:MOST_GREENS])
            for one in best
        )
        for confirmed in drive(pool, jobs):
            place = next(at for at, one in enumerate(found.candidates) if one.mutant is confirmed.mutant)
            found.candidates[place] = confirmed


def _attempt(
    process: SwitchedProcess, number: int, given: Sequence[LineCase], end: float
) -> Steps[tuple[int, bool | None]]:
    """Return whether all given cases pass with an edit; None for it once the time is up."""
    for case in given:
        if monotonic() > end:
            return number, None
        process.turn(case.question.planned, number)
        verdict = yield case.question
        if not verdict.green:
            return number, False
    return number, True


def _confirm(
    process: SwitchedProcess,
    number: int,
    one: RepairCandidate,
    reds: Sequence[LineCase],
    greens: Sequence[LineCase],
) -> Steps[RepairCandidate]:
    """Return a candidate with what other cases come to; those that do not reach its line stay as they are."""
    passed = broken = 0
    for case in (*reds, *greens):
        if _line(one.mutant) in case.lines:
            process.turn(case.question.planned, number)
            verdict = yield case.question
            passed += case.is_red and verdict.green
            broken += case.is_green and is_red(verdict)
    return replace(one, is_confirmed=True, reds=len(reds), passed=passed, greens=len(greens), broken=broken)
