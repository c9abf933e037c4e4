"""The coverage of what a problem's lengths and choices do not say: alpha, beta, the form of D, and compute types.

Rows of a batch do not hold them, so they are no factors of a survey: the pairs of their classes, and of each with the
operation, are counted apart. The problems of a survey's pool show which are possible.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from bitgate.model import DTYPES, ProblemError, case_id
from bitgate.model.contraction import Contraction
from bitgate.model.space import epilogues

if TYPE_CHECKING:
    from bitgate.tools.coverage.survey import Survey

MOST = 6000
"""Problems of the pool, the cheapest ones, that show what is possible."""
COMPUTE = "compute"
SPOKEN: Mapping[str, str] = {
    "op": "operation",
    "alpha": "alpha",
    "beta": "beta",
    "d_layout": "D's layout number",
    "d_dtype": "D's type",
    "d_axes": "D's broadcast axes",
    COMPUTE: "compute type of",
}
"""Factors in words."""
PLAIN = ("none", "no d0", "own", "pass")
_EVERY, _OTHER = DTYPES["f8ocp"], DTYPES["bf8ocp"]

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two classes, each with its factor before it."""


@dataclass(frozen=True)
class FormHole:
    """Two classes that no row has together, and the cheapest problem that has."""

    pair: Pair
    problem: Any

    def as_json(self) -> dict[str, Any]:
        return {"factors": dict(self.pair), "words": self.words, "row": case_id(self.problem)}

    @property
    def words(self) -> str:
        return " with ".join(f"{SPOKEN[name]} {cls}" for name, cls in self.pair)


@dataclass(frozen=True)
class FormCoverage:
    """The number of possible pairs, and those that no row has: those of two special classes first, and the
    most common."""

    total: int
    holes: tuple[FormHole, ...]

    def as_json(self, top: int) -> dict[str, Any]:
        """Return the counts, and the first ``top`` holes."""
        covered = self.total - len(self.holes)
        return {"covered": covered, "total": self.total, "uncovered": [hole.as_json() for hole in self.holes[:top]]}


def classes_of(problem: Contraction) -> dict[str, str]:
    """Return the classes of a problem, by factor."""
    own = [role for role, _ in problem.dtypes.own]
    compute = "both operands" if len(own) == 2 else own[0] if own else "all" if problem.dtypes.compute else "none"
    return {"op": problem.op.name, **epilogues.classes(problem), COMPUTE: compute}


def forms_of(survey: Survey, problems: Iterable[Any]) -> FormCoverage | None:
    """Return what the rows of a survey's operation reach; None if its problems have no such forms, or its table does
    not say whether they have a D."""
    if "numd" not in survey.scope.stated:
        return None
    possible: dict[Pair, Contraction] = {}
    count: dict[Pair, int] = {}
    for problem in _witnesses(survey):
        for pair in _pairs(problem):
            possible.setdefault(pair, problem)
            count[pair] = count.get(pair, 0) + 1
    if not possible:
        return None
    reached = {pair for problem in problems for pair in _pairs(problem)}
    open_ = sorted(possible.keys() - reached, key=lambda pair: (_plain(pair), -count[pair], pair))
    return FormCoverage(len(possible), tuple(FormHole(pair, possible[pair]) for pair in open_))


def _plain(pair: Pair) -> int:
    """Return how many of the classes say of a factor only that there is none, or that it is the usual one."""
    return sum(cls in PLAIN for _, cls in pair)


def _pairs(problem: Contraction) -> Iterator[Pair]:
    yield from combinations(classes_of(problem).items(), 2)


def _witnesses(survey: Survey) -> Iterator[Contraction]:
    """Yield problems of the pool, with factors, forms of D and compute types; without the latter where types are
    assumed."""
    pool = survey.scope.pool
    is_typed = "dtypes" not in survey.scope.assumptions.columns
    for row in range(min(len(pool), MOST)):
        problem = pool.problem(row)
        if not isinstance(problem, Contraction):
            return
        yield epilogues.with_epilogue(_computed(problem) if is_typed else problem)


def _computed(problem: Any) -> Any:
    """Return the problem, or for every other one with compute types: of all, of one operand, or of each its own.

    The choice depends on the problem alone.
    """
    rng = np.random.default_rng(zlib.crc32(case_id(problem).encode()) ^ 0xC)
    first, second = problem.operands
    changes: tuple[dict[str, Any], ...] = (
        {"compute": _EVERY},
        {"own": ((first, _EVERY),)},
        {"own": ((second, _EVERY),)},
        {"own": ((first, _EVERY), (second, _OTHER))},
    )
    chosen = changes[int(rng.integers(len(changes)))] if rng.random() < 0.5 else {}
    try:
        return problem.changed(dtypes=replace(problem.dtypes, **chosen)) if chosen else problem
    except ProblemError:
        return problem
