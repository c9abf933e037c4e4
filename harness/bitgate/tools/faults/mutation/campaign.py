"""A campaign: a draw of mutants is tried on the cases of their families, one library a family."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.declaration import KernelFamily
from bitgate.tools.faults.mutation import library
from bitgate.tools.faults.mutation.baseline import plain_verdicts, watched
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.record import Known
from bitgate.tools.faults.mutation.sources import Population, of_family
from bitgate.tools.faults.mutation.switching import drive, open_pool
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial, trial
from bitgate.verify.process import CaseRequest, Opening

Say = Callable[[str], None]

_BEST_FIRST = (Fate.KILLED, Fate.TIMEOUT, Fate.SURVIVED, Fate.NOT_REACHED, Fate.NOT_COMPILABLE)
"""Order of fates for a mutant in several families: one kill is enough."""


@dataclass(frozen=True)
class MutationSetup:
    """The setup of a campaign.

    ``questions``: cases by family; ``limit``: most seconds of a case with a mutant on; ``jobs``: mutants at a time.
    """

    builder: Builder
    families: Mapping[str, KernelFamily]
    questions: Mapping[str, Sequence[CaseRequest]]
    opening: Opening
    limit: float
    jobs: int
    say: Say


@dataclass
class Score:
    """The fates of a draw, each mutant once."""

    trials: list[MutantTrial] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Fate]:
        return Counter(trial.fate for trial in self.trials)

    @property
    def killed(self) -> int:
        return sum(trial.fate.is_kill for trial in self.trials)

    @property
    def counted(self) -> int:
        return sum(trial.fate.counts for trial in self.trials)

    @property
    def value(self) -> float | None:
        """Killed share of the mutants that a case reached, 0 to 1; None if none was reached."""
        return self.killed / self.counted if self.counted else None

    @property
    def survivors(self) -> list[MutantTrial]:
        return [trial for trial in self.trials if trial.fate is Fate.SURVIVED]

    def as_json(self) -> dict[str, Any]:
        return {
            "faults": [trial.as_json() for trial in self.trials],
            "score": None if self.value is None else round(self.value, 4),
            "counts": {fate.value: self.counts[fate] for fate in Fate},
        }


def run(
    bench: MutationSetup, drawn: Sequence[Mutant], pool: Population, known: Known, done: Callable[[MutantTrial], None]
) -> Score:
    """Try the mutants that are not ``known``; ``done`` receives each trial at once.

    Raises UsageError if a library of mutants, with none of them on, differs from the plain one.
    """
    tried: dict[Mutant, list[MutantTrial]] = {mutant: [] for mutant in drawn}
    for (mutant, _), old in known.items():
        tried[mutant].append(old)
    for name, family in bench.families.items():
        mutants = [
            mutant
            for mutant in of_family(drawn, name, pool.families)
            if (mutant, name) not in known and not any(one.fate.is_kill for one in tried[mutant])
        ]
        if not mutants:
            continue
        for one in _tried(bench, family, mutants, pool.paths):
            tried[one.mutant].append(one)
            done(one)
    return Score([best(trials) for trials in tried.values() if trials])


def _tried(
    bench: MutationSetup, family: KernelFamily, mutants: Sequence[Mutant], paths: Mapping[str, Path]
) -> Iterator[MutantTrial]:
    name, say = family.name, bench.say
    bench.builder.family(family)
    questions = bench.questions[name]
    say(f"{name}: {len(questions)} cases as the sources are")
    plain = plain_verdicts(questions, bench.opening, bench.jobs, say)
    if len(plain) < len(questions):
        say(f"{name}: {len(questions) - len(plain)} cases are not green without a mutant, and are left out")
    if not plain:
        return
    with tempfile.TemporaryDirectory(prefix="bitgate-mutants-", ignore_cleanup_errors=True) as folder:
        built = library.build(bench.builder, family, mutants, paths, Path(folder), say)
        yield from (MutantTrial(mutant, name, Fate.NOT_COMPILABLE) for mutant in built.not_compilable)
        if not built.mutants:
            return
        with open_pool(bench.opening, bench.jobs, built.overlay, say) as workers:
            say(f"{name}: the same cases by the library of {len(built.mutants)} mutants, none of them on")
            sound = watched(workers, plain, name, say)
            reaching = {n: [case for case in sound if n in case.reached] for n in built.mutants}
            jobs = (
                partial(trial, number=n, mutant=mutant, family=name, reaching=reaching[n], limit=bench.limit)
                for n, mutant in built.mutants.items()
            )
            yield from drive(workers, jobs)


def best(trials: Iterable[MutantTrial]) -> MutantTrial:
    return min(trials, key=lambda one: _BEST_FIRST.index(one.fate))
