"""What a table of cases covers and what it does not: the question of ``bitgate coverage``, answered for one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bitgate.coverage.assume import COLUMNS, Assumptions
from bitgate.coverage.batch import Batch, Ints
from bitgate.coverage.combine import Codes, Combinations, Flags
from bitgate.coverage.factor import Factor
from bitgate.coverage.factors import FACTORS, classify
from bitgate.coverage.field import field
from bitgate.coverage.holes import Hole, Levels
from bitgate.coverage.pool import BATCH_COLUMN, COLUMN_VALUES, PASS_VALUES, witnesses
from bitgate.coverage.rank import Shares, Weight, merged, rank
from bitgate.coverage.solve import has, shrink
from bitgate.coverage.table import Row, Table, counted_columns, shape_problem, spread
from bitgate.errors import UsageError
from bitgate.operation import DtypeSet
from bitgate.operations.convolution import ConvProblem, Pass

_DEFAULT = shape_problem(Pass.BWD_DATA, (1, 1, 8, 8), ((1, 1), (4, 4), (1, 1), (1, 1), (0, 0), (0, 0)))

_SPOKEN = ("ndim", "g", "k_size", "numd", "split_k")
"""What a path takes for granted and its name does not tell."""


@dataclass(frozen=True)
class Ranked:
    """A hole with its rank (from 1) and the weight behind it, the problem that closes it, and how many
    uncovered combinations of the survey's strength that one row would close."""

    rank: int
    hole: Hole
    weight: Weight
    problem: ConvProblem
    closes: int


class Space:
    """The factors that count for a pass under some assumptions, with the problems that show what is possible
    (``pool``, cheapest first) and what is common (``field``), as rows of class indices."""

    def __init__(
        self, direction: Pass, stated: frozenset[str], assumptions: Assumptions, rows: Sequence[ConvProblem] = ()
    ) -> None:
        self.direction = direction
        self.assumptions = assumptions
        counted = counted_columns(stated, assumptions)
        self.factors = tuple(f for f in FACTORS[direction] if not f.column or f.column in counted)
        columns = tuple(sorted(_domains(direction, counted, assumptions, rows).items()))
        pool = witnesses(direction, columns)
        self.pool, self.pool_codes = self._within(pool.take(pool.exercised))
        if len(self.pool) == 0:
            raise UsageError("no problem fits these assumptions; relax one --assume")
        self.field_codes = self._within(field(direction, columns))[1]

    def classify(self, batch: Batch) -> Codes:
        return classify(batch, self.factors, self.assumptions.constants)

    def _within(self, batch: Batch) -> tuple[Batch, Codes]:
        """The rows that have the classes which the assumptions ask for."""
        codes = self.classify(batch)
        keep = self.wanted(codes)
        return (batch, codes) if keep.all() else (batch.take(keep), codes[keep])

    def wanted(self, codes: Codes) -> Flags:
        keep = np.ones(len(codes), dtype=np.bool_)
        for name, values in self.assumptions.classes.items():
            for position, factor in enumerate(self.factors):
                if factor.name == name:
                    keep &= np.isin(codes[:, position], [_class_index(factor, value) for value in values])
        return keep


class Survey:
    """Coverage of the rows of one pass at one strength. ``levels`` holds the combinations, ``ranked()`` the holes."""

    def __init__(self, space: Space, rows: Sequence[Row], strength: int) -> None:
        self.space = space
        self.strength = strength
        self.codes: Codes = np.empty((0, len(space.factors)), dtype=np.uint8)
        self.shapes = 0
        if rows:
            batch = Batch.from_problems([row.problem for row in rows])
            codes = space.classify(batch)
            wanted = space.wanted(codes)
            self.codes, self.shapes = codes[wanted], batch.take(wanted).shapes
        self.levels = Levels(space.factors, space.pool_codes, self.codes, strength)

    @property
    def direction(self) -> Pass:
        return self.space.direction

    @property
    def combinations(self) -> Combinations:
        return self.levels.levels[-1]

    @cached_property
    def uncovered(self) -> Flags:
        """By number of the combination: possible without gigabytes, and in no row."""
        return self.levels.possible[-1] & ~self.levels.covered[-1] & ~self.levels.plan_only[-1]

    @cached_property
    def order(self) -> list[tuple[Hole, Weight]]:
        holes = merged(self.levels.holes(), self._pool)
        return rank(holes, self.space.factors, self._pool, self.space.field_codes, self.codes, self.shapes)

    @cached_property
    def _pool(self) -> Shares:
        return Shares(self.space.pool_codes)

    def ranked(self, exact: int) -> Iterator[Ranked]:
        """The holes in order; the rows of the first ``exact`` ones are shrunk to the smallest problem, the others
        are the smallest witness of the pool."""
        space, witnesses_of = self.space, self._pool
        first = np.array([int(np.argmax(witnesses_of.mask(hole.terms))) for hole, _ in self.order], dtype=np.int64)
        closes = self._closes(space.pool_codes[first])
        for number, (hole, weight) in enumerate(self.order):
            row = space.pool.take(first[number : number + 1])
            if number < exact:
                row = shrink(row, has(hole.terms, space.factors, space.assumptions.constants))
                closes[number] = self._closes(space.classify(row))[0]
            yield Ranked(number + 1, hole, weight, row.problem(0), int(closes[number]))

    def _closes(self, codes: Codes) -> Ints:
        """How many combinations that no case has, plan-only ones included, each of these rows would cover."""
        still = self.levels.possible[-1] & ~self.levels.covered[-1]
        parts = [codes[at : at + 64] for at in range(0, len(codes), 64)]
        return np.concatenate(
            [still[self.combinations.index(part)].sum(axis=1) for part in parts] or [np.empty(0, np.int64)]
        )

    @cached_property
    def _conditions(self) -> dict[str, dict[str, str]]:
        """What each class of 'path' takes for granted: factors that have one class in all its witnesses."""
        codes, factors = self.space.pool_codes, self.space.factors
        path = next(i for i, f in enumerate(factors) if f.name == "path")
        choices = [i for i in range(len(factors)) if i != path and len(np.unique(codes[:, i])) > 1]
        conditions: dict[str, dict[str, str]] = {}
        for index, cls in enumerate(factors[path].classes):
            on_path = codes[codes[:, path] == index]
            fixed = [i for i in choices if len(np.unique(on_path[:, i])) == 1]
            conditions[cls.name] = {factors[i].name: factors[i].classes[int(on_path[0, i])].name for i in fixed}
        return conditions

    def factors_of(self, hole: Hole) -> dict[str, str]:
        """Factor -> class, with what a path takes for granted spelt out, and classes that come to the same."""
        also = {self.space.factors[term.factor].name: term.cls.name for term in hole.also}
        named = {self.space.factors[term.factor].name: term.cls.name for term in hole.terms}
        return {**self._conditions.get(named.get("path", ""), {}), **also, **named}

    def words(self, hole: Hole) -> str:
        """The hole as a person says it: ``flat path (2D, G=1) with gemms_count > 1``."""
        spoken = []
        for term in hole.terms:
            words = term.cls.words
            if self.space.factors[term.factor].name == "path":
                others = {self.space.factors[other.factor].name for other in hole.terms}
                granted = [
                    next(c.words for c in factor.classes if c.name == self._conditions[term.cls.name][factor.name])
                    for factor in self.space.factors
                    if factor.name in _SPOKEN
                    and factor.name in self._conditions[term.cls.name]
                    and factor.name not in others
                ]
                words += f" ({', '.join(granted)})" if granted else ""
            spoken.append(words)
        return " with ".join(spoken[:2]) + "".join(f" and {words}" for words in spoken[2:])


def surveys(table: Table, assumptions: Assumptions, strength: int) -> list[Survey]:
    """One survey for each pass that the table has rows of."""
    by_pass: dict[Pass, list[Row]] = {}
    for row in spread(table, assumptions):
        if _assumed(row.problem, table.stated, assumptions):
            by_pass.setdefault(row.problem.direction, []).append(row)
    if not table.rows:
        by_pass[assumptions.direction or Pass.BWD_DATA] = []
    if not by_pass:
        raise UsageError(f"{table.source}: no row fits these assumptions; relax one --assume")
    return [
        Survey(Space(direction, table.stated, assumptions, [row.problem for row in rows]), rows, strength)
        for direction, rows in by_pass.items()
    ]


def _assumed(problem: ConvProblem, stated: frozenset[str], assumptions: Assumptions) -> bool:
    """A row of a table that states a column belongs to the question only with one of the assumed values."""
    if assumptions.direction and problem.direction is not assumptions.direction:
        return False
    return all(
        any(COLUMNS[name](problem, value) == problem for value in values)
        for name, values in assumptions.columns.items()
        if name in stated
    )


def _domains(
    direction: Pass, counted: frozenset[str], assumptions: Assumptions, rows: Sequence[ConvProblem]
) -> dict[str, tuple[int, ...]]:
    """Values of each column (Batch codes) that the question is about: assumed ones; for a counted column those that
    exist, but of types only the ones that the table uses; else the default."""
    domains: dict[str, tuple[int, ...]] = {}
    default = replace(_DEFAULT, direction=direction)
    for name, values in {**COLUMN_VALUES, **PASS_VALUES.get(direction, {})}.items():
        if name in assumptions.columns:
            domains[name] = tuple(_code(name, COLUMNS[name](default, value)) for value in assumptions.columns[name])
        elif name == "dtypes" and name in counted:
            used = {problem.dtypes for problem in rows} or {DtypeSet.parse(text) for text in ("f32", "f16", "bf16")}
            domains[name] = tuple(sorted({_code(name, replace(_DEFAULT, dtypes=dtypes)) for dtypes in used}))
        else:
            domains[name] = values if name in counted else (_code(name, default),)
    return domains


def _code(name: str, problem: ConvProblem) -> int:
    return int(getattr(Batch.from_problems([problem]), BATCH_COLUMN.get(name, name))[0])


def _class_index(factor: Factor, name: str) -> int:
    names = [cls.name for cls in factor.classes]
    if name not in names:
        raise UsageError(f"--assume {factor.name}={name}: no such class; known are {', '.join(names)}")
    return names.index(name)
