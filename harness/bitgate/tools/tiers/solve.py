"""The solved lists of a suite: pairs as far as smoke's seconds go, all of them in regression, then triples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bitgate.core.choices import REGRESSION, SMOKE
from bitgate.kernel.declaration import KernelFamily
from bitgate.model import case_id
from bitgate.model.facts import OF_OPERATION
from bitgate.results.strength import Strength, in_words
from bitgate.suite.solved_list import GPU, SolvedCase
from bitgate.tools.tiers.cost import CostModel
from bitgate.tools.tiers.cover import Cover, Goals, goals, pairs_of
from bitgate.tools.tiers.pool import CandidatePool, PoolCase, has_short_id, shows_nothing, subjects_of
from bitgate.tools.tiers.request import SolveRequest

INSTANCE = "instance"
"""The factor of the instance by its name, which only pairs with every other factor in regression."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class SolvedLists:
    """The lists of one suite: cases that kernels take, cases that they refuse, and the strength reached."""

    taken: tuple[SolvedCase, ...]
    refused: tuple[SolvedCase, ...]
    strengths: tuple[Strength, ...]


def solve_suite(
    request: SolveRequest, families: Mapping[str, KernelFamily], costs: CostModel, progress: Progress
) -> SolvedLists:
    """Solve every family and operation of a suite, on the instances of the host."""
    solved = SolvedLists((), (), ())
    subjects = subjects_of(request, families)
    for family, operation in subjects:
        share = replace(request, **{name: getattr(request, name) / len(subjects) for name in ("smoke", "regression")})
        one = _solve(CandidatePool(family, operation, costs, request.most_seconds), share)
        for strength in one.strengths:
            progress(in_words(strength))
        solved = SolvedLists(
            (*solved.taken, *one.taken), (*solved.refused, *one.refused), (*solved.strengths, *one.strengths)
        )
    return solved


def _solve(pool: CandidatePool, request: SolveRequest) -> SolvedLists:
    cases = pool.cases(request.pool, request.seed)
    taken = [case for case in cases if not case.refused]
    classes = [case.classes for case in taken]
    names = _varying(classes)
    pairs = goals(classes, pairs_of(names))
    named = [name for name in request.triples if name in names]
    triples = goals(classes, combinations(named, 3))
    cover = Cover([case.seconds for case in taken])
    tiers: dict[int, str] = {}
    strengths = []

    @cache
    def is_kept(place: int) -> bool:
        return has_short_id(taken[place]) and not shows_nothing(taken[place])

    def note(tier: str) -> None:
        tiers.update((place, tier) for place in cover.chosen if place not in tiers)
        kept = Cover(cover.seconds, list(filter(is_kept, cover.chosen)))
        strengths.append(
            Strength(
                pool.family.name,
                pool.operation,
                tier,
                len(kept.chosen),
                kept.spent,
                (kept.reached(pairs), pairs.possible),
                (kept.reached(triples), triples.possible),
            )
        )

    cover.extend(goals(classes, pairs_of([name for name in names if name.endswith(OF_OPERATION)])))
    cover.extend(goals(classes, pairs_of(named)))
    cover.extend(pairs, request.smoke)
    cover.extend(triples, request.smoke)
    note(SMOKE)
    waves = sorted({one["wave"] for one in classes})
    for wave in waves if len(waves) > 1 else ():
        allowed = np.array([one["wave"] == wave for one in classes])
        cover.extend(_within(allowed, classes, named), allowed=allowed)
    note(GPU)
    cover.extend(pairs)
    of_instances = [{**one, INSTANCE: case.kernel.name} for one, case in zip(classes, taken, strict=True)]
    cover.extend(goals(of_instances, [(INSTANCE, name) for name in names]), request.regression)
    cover.extend(triples, request.regression)
    note(REGRESSION)
    lines = (
        _line(taken[place], tiers[place], _why(cover, place, taken[place])) for place in filter(is_kept, cover.chosen)
    )
    return SolvedLists(tuple(lines), tuple(_refusals(cases)), tuple(strengths))


def _within(allowed: NDArray[np.bool_], classes: Sequence[Mapping[str, str]], named: Sequence[str]) -> Goals:
    """Return the pairs of the named factors among the allowed cases: what a GPU of one wave size should reach."""
    own = [one if is_allowed else {} for one, is_allowed in zip(classes, allowed, strict=True)]
    return goals(own, pairs_of(named))


def _varying(classes: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the factors with several classes."""
    every = dict.fromkeys(name for one in classes for name in one)
    return [name for name in every if len({one.get(name, "") for one in classes}) > 1]


def _refusals(cases: Sequence[PoolCase]) -> list[SolvedCase]:
    """Return cases just outside of each clause: first by each single quantity, axis or gap that violates it and on each
    instance, then every class of every factor with every clause."""
    refused = [case for case in cases if case.refused and has_short_id(case)]
    if not refused:
        return []
    classes = [{**case.classes, "clause": case.refused, INSTANCE: case.kernel.name} for case in refused]
    cover = Cover([1.0] * len(refused))
    cover.extend(goals(classes, [("clause", "violates"), ("clause", INSTANCE)]))
    first = len(cover.chosen)
    cover.extend(goals(classes, [("clause", name) for name in _varying(classes) if name != "clause"]))
    smoke = max(first, len(cover.chosen) // 3)
    return [
        _line(refused[place], SMOKE if rank < smoke else REGRESSION, _why(cover, place, refused[place]))
        for rank, place in enumerate(cover.chosen)
    ]


def _why(cover: Cover, place: int, case: PoolCase) -> str:
    """Return what the case was taken for: one combination that no case before it has."""
    known = {"clause": case.refused, INSTANCE: case.kernel.instance.name, **case.classes}
    return "first " + ", ".join(f"{name.rstrip(':')} {known.get(name, '')}".strip() for name in cover.firsts[place])


def _line(case: PoolCase, tier: str, why: str) -> SolvedCase:
    return SolvedCase(tier, case_id(case.problem), case.kernel.name, case.fill, case.kernel.options, case.refused, why)
