"""A campaign: a draw of mutants is tried on the cases of their families, one library a family."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.tools.faults.mutation import library
from bitgate.tools.faults.mutation.baseline import green, plain_verdicts, watched
from bitgate.tools.faults.mutation.drawn_cases import DrawnCases
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.record import Known
from bitgate.tools.faults.mutation.score import Score
from bitgate.tools.faults.mutation.sources import Population
from bitgate.tools.faults.mutation.switching import drive, open_pool
from bitgate.tools.faults.mutation.trial import Fate, MeasuredCase, MutantTrial, ReachingCases, trial
from bitgate.verify.process import CaseRequest, Opening

Say = Callable[[str], None]

OVERSAMPLED = 3
"""Mutants in a library for each that is wanted: families do not reach all that they compile."""


@dataclass(frozen=True)
class MutationSetup:
    """The setup of a campaign.

    ``questions``: cases by family; ``sample``: mutants that count, of all families; ``drawn``: cases of a family that
    no suite holds; ``limit``: most seconds of a case with a mutant on; ``jobs``: mutants at a time.
    """

    builder: Builder
    families: Mapping[str, KernelFamily]
    questions: Mapping[str, Sequence[CaseRequest]]
    opening: Opening
    sample: int
    drawn: int
    seed: int
    limit: float
    jobs: int
    say: Say
    expected: Mapping[Mutant, str] = field(default_factory=dict)
    """The kind that the diagnosis of a mutant should name, if one is expected."""


def run(bench: MutationSetup, pool: Population, known: Known, done: Callable[[MutantTrial], None]) -> Score:
    """Try mutants until each family has its share of those that count; ``done`` receives each new trial at once.

    Raises UsageError if a library of mutants, with none of them on, differs from the plain one.
    """
    trials: list[MutantTrial] = []
    for (name, family), wanted in zip(bench.families.items(), shares(bench.sample, len(bench.families)), strict=True):
        candidates = pool.candidates(name, bench.seed)
        tried = [trial for mutant in candidates if (trial := known.get((mutant, name))) is not None]
        queue = [mutant for mutant in candidates if (mutant, name) not in known]
        wanted -= sum(trial.fate.counts for trial in tried)
        for trial in try_in_family(bench, family, queue, wanted, pool.paths) if queue and wanted > 0 else ():
            tried.append(trial)
            done(trial)
        trials += tried
    return Score(trials)


def shares(sample: int, families: int) -> list[int]:
    """Return how many mutants of a sample each family has."""
    return [sample // families + (place < sample % families) for place in range(families)]


def try_in_family(
    bench: MutationSetup, family: KernelFamily, queue: list[Mutant], wanted: int, paths: Mapping[str, Path]
) -> Iterator[MutantTrial]:
    """Try the mutants of a queue in their order, until ``wanted`` of them count."""
    name, say = family.name, bench.say
    bench.builder.family(family)
    questions = bench.questions[name]
    say(f"{name}: {len(questions)} cases as the sources are")
    verdicts = plain_verdicts(questions, bench.opening, bench.jobs, say)
    plain = [case for case in verdicts if case.verdict.green]
    if len(plain) < len(questions):
        say(f"{name}: {len(questions) - len(plain)} cases are not green without a mutant, and are left out")
    if not plain:
        return
    target = bench.opening.target
    drawn = DrawnCases(family.on(target), target, bench.drawn, bench.seed)
    while queue and wanted > 0:
        mutants, queue = queue[: OVERSAMPLED * wanted], queue[OVERSAMPLED * wanted :]
        for one in _by_one_library(bench, family, (plain, drawn), mutants, wanted, paths):
            wanted -= one.fate.counts
            yield one


def _by_one_library(
    bench: MutationSetup,
    family: KernelFamily,
    cases: tuple[Sequence[MeasuredCase], DrawnCases],
    mutants: list[Mutant],
    wanted: int,
    paths: Mapping[str, Path],
) -> Iterator[MutantTrial]:
    """Try the mutants in their order, until ``wanted`` of them count. Those that share an edit share its switch."""
    name, say, (plain, drawn) = family.name, bench.say, cases
    with tempfile.TemporaryDirectory(prefix="bitgate-mutants-", ignore_cleanup_errors=True) as folder:
        edits = list(dict.fromkeys(mutant.edit for mutant in mutants))
        built = library.build(bench.builder, family, edits, paths, Path(folder), say)
        numbers = {edit: number for number, edit in built.mutants.items()}
        with open_pool(bench.opening, bench.jobs, say, name, built.overlay) as workers:
            say(f"{name}: the same cases by the library of {len(numbers)} edits, none of them on, and drawn ones")
            sound = drawn.with_facts(watched(workers, plain, name, say))
            others = drawn.with_facts(green(workers, drawn.questions, say))
            every = ReachingCases(sound, others)
            while mutants and wanted > 0:
                batch, mutants = mutants[:wanted], mutants[wanted:]
                jobs = (
                    partial(
                        trial,
                        number=numbers[mutant.edit],
                        mutant=mutant,
                        family=name,
                        cases=every.of(numbers[mutant.edit]),
                        limit=bench.limit,
                        expected=bench.expected.get(mutant, ""),
                    )
                    for mutant in batch
                    if mutant.edit in numbers
                )
                for one in drive(workers, jobs):
                    wanted -= one.fate.counts
                    yield one
                yield from (
                    MutantTrial(mutant, name, Fate.NOT_COMPILABLE) for mutant in batch if mutant.edit not in numbers
                )
