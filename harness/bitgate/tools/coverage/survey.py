"""The coverage of a table of cases and its holes, as ``bitgate coverage`` reports them, for one operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.kernel.declaration import KernelFamily
from bitgate.model import Operation, Problem, operations
from bitgate.model.space.candidates import Candidates, Ints
from bitgate.model.space.factor import PATH, Factor, classify
from bitgate.model.space.quantity_factors import tile_factors
from bitgate.model.space.table import NamedProblem, Table
from bitgate.tools.coverage.assume import Assumptions, counted_columns, put, spread
from bitgate.tools.coverage.combine import Codes, Combinations, Flags
from bitgate.tools.coverage.forms import FormCoverage, forms_of
from bitgate.tools.coverage.holes import Hole, Levels
from bitgate.tools.coverage.rank import HoleWeight, Shares, merged, rank
from bitgate.tools.coverage.solve import has, shrink
from bitgate.tools.coverage.tiles import largest

NO_TILES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class RankedHole:
    """A hole with its rank (from 1) and weight, and the problem that closes it.

    ``closes`` counts the uncovered combinations of the survey's strength that this one row would close.
    """

    rank: int
    hole: Hole
    weight: HoleWeight
    problem: Problem
    closes: int


class Scope:
    """The factors that count for an operation under some assumptions, and sample problems as rows of class indices.

    ``pool``, cheapest first, shows what is possible, ``field`` what is common. ``tiles`` are those of kernels, by the
    lengths that they cut.
    """

    def __init__(
        self,
        operation: Operation,
        stated: frozenset[str],
        assumptions: Assumptions,
        rows: Sequence[Problem] = (),
        tiles: Mapping[str, int] = NO_TILES,
    ) -> None:
        self.operation = operation
        self.assumptions = assumptions
        self.stated = stated
        space = operation.space
        counted = counted_columns(operation, stated, assumptions)
        self.factors = tuple(f for f in space.factors if not f.column or f.column in counted) + tile_factors(tiles)
        domains = space.domains(counted, assumptions.columns, rows)
        pool = space.witnesses(domains)
        self.pool, self.pool_codes = self._within(pool.take(pool.exercised))
        if len(self.pool) == 0:
            raise UsageError("no problem fits these assumptions; relax one --assume")
        self.field_codes = self._within(space.everyday(domains))[1]

    def classify(self, batch: Candidates) -> Codes:
        return classify(batch, self.factors, self.assumptions.constants)

    def _within(self, batch: Candidates) -> tuple[Candidates, Codes]:
        """Return the rows that have the classes which the assumptions demand."""
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
    """The coverage of one operation by the rows. ``levels`` holds the combinations, ``ranked()`` the holes."""

    def __init__(self, scope: Scope, rows: Sequence[NamedProblem], strength: int) -> None:
        self.scope = scope
        self.strength = strength
        self.codes: Codes = np.empty((0, len(scope.factors)), dtype=np.uint8)
        self.shapes = 0
        if rows:
            batch = scope.operation.space.batch([row.problem for row in rows])
            codes = scope.classify(batch)
            wanted = scope.wanted(codes)
            self.codes, self.shapes = codes[wanted], batch.take(wanted).shapes
        self.levels = Levels(scope.factors, scope.pool_codes, self.codes, strength)
        self._problems = [row.problem for row in rows]

    @property
    def operation(self) -> Operation:
        return self.scope.operation

    @property
    def combinations(self) -> Combinations:
        return self.levels.levels[-1]

    @cached_property
    def forms(self) -> FormCoverage | None:
        """The coverage of alpha, beta, D's form and compute types, where the operation has them."""
        return forms_of(self, self._problems)

    @cached_property
    def uncovered(self) -> Flags:
        """The combinations, by number, that are possible without gigabytes and in no row."""
        return self.levels.possible[-1] & ~self.levels.covered[-1] & ~self.levels.plan_only[-1]

    @cached_property
    def order(self) -> list[tuple[Hole, HoleWeight]]:
        holes = merged(self.levels.holes(), self._pool)
        return rank(holes, self.scope.factors, self._pool, self.scope.field_codes, self.codes, self.shapes)

    @cached_property
    def _pool(self) -> Shares:
        return Shares(self.scope.pool_codes)

    def ranked(self, exact: int) -> Iterator[RankedHole]:
        """Yield the holes in order.

        The rows of the first ``exact`` ones are shrunk to the smallest problem, the others are the smallest witness of
        the pool.
        """
        scope, witnesses_of = self.scope, self._pool
        first = np.array([int(np.argmax(witnesses_of.mask(hole.terms))) for hole, _ in self.order], dtype=np.int64)
        closes = self._closes(scope.pool_codes[first])
        for number, (hole, weight) in enumerate(self.order):
            row = scope.pool.take(first[number : number + 1])
            if number < exact:
                row = shrink(row, has(hole.terms, scope.factors, scope.assumptions.constants))
                closes[number] = self._closes(scope.classify(row))[0]
            yield RankedHole(number + 1, hole, weight, row.problem(0), int(closes[number]))

    def _closes(self, codes: Codes) -> Ints:
        """Count the combinations without a case, plan-only ones included, that each of these rows would cover."""
        still = self.levels.possible[-1] & ~self.levels.covered[-1]
        parts = [codes[at : at + 64] for at in range(0, len(codes), 64)]
        return np.concatenate(
            [still[self.combinations.index(part)].sum(axis=1) for part in parts] or [np.empty(0, np.int64)]
        )

    @cached_property
    def _conditions(self) -> dict[str, dict[str, str]]:
        """The implications of each class of 'path': factors that have one class in all its witnesses."""
        codes, factors = self.scope.pool_codes, self.scope.factors
        path = next((i for i, f in enumerate(factors) if f.name == PATH), None)
        if path is None:
            return {}
        choices = [i for i in range(len(factors)) if i != path and len(np.unique(codes[:, i])) > 1]
        conditions: dict[str, dict[str, str]] = {}
        for index, cls in enumerate(factors[path].classes):
            on_path = codes[codes[:, path] == index]
            fixed = [i for i in choices if len(np.unique(on_path[:, i])) == 1]
            conditions[cls.name] = {factors[i].name: factors[i].classes[int(on_path[0, i])].name for i in fixed}
        return conditions

    def factors_of(self, hole: Hole) -> dict[str, str]:
        """Return factor -> class, with what a path implies spelt out, and equivalent classes."""
        also = {self.scope.factors[term.factor].name: term.cls.name for term in hole.also}
        named = {self.scope.factors[term.factor].name: term.cls.name for term in hole.terms}
        return {**self._conditions.get(named.get(PATH, ""), {}), **also, **named}

    def words(self, hole: Hole) -> str:
        """Describe the hole as a person would: ``flat path (2D, G=1) with gemms_count > 1``."""
        spoken = []
        for term in hole.terms:
            words = term.cls.words
            if self.scope.factors[term.factor].name == PATH:
                others = {self.scope.factors[other.factor].name for other in hole.terms}
                granted = [
                    next(c.words for c in factor.classes if c.name == self._conditions[term.cls.name][factor.name])
                    for factor in self.scope.factors
                    if factor.is_granted
                    and factor.name in self._conditions[term.cls.name]
                    and factor.name not in others
                ]
                words += f" ({', '.join(granted)})" if granted else ""
            spoken.append(words)
        return " with ".join(spoken[:2]) + "".join(f" and {words}" for words in spoken[2:])


def surveys(
    table: Table, assumptions: Assumptions, strength: int, families: Sequence[KernelFamily] = ()
) -> list[Survey]:
    """Return one survey for each operation that the table has rows of; the tiles of ``families`` count as factors."""
    by_operation: dict[str, list[NamedProblem]] = {}
    for row in spread(table, assumptions):
        if row.problem.operation.space.factors and _assumed(row.problem, table.stated, assumptions):
            by_operation.setdefault(row.problem.operation.name, []).append(row)
    if not table.rows:
        by_operation[assumptions.operation or _leading()] = []
    if not by_operation:
        raise UsageError(f"{table.source}: no row fits these assumptions; relax one --assume")
    return [
        Survey(
            Scope(
                operations()[name],
                table.stated,
                assumptions,
                [row.problem for row in rows],
                largest(families, operations()[name]),
            ),
            rows,
            strength,
        )
        for name, rows in by_operation.items()
    ]


def _leading() -> str:
    """Return the operation of a table made from nothing, if none is named."""
    return next(name for name, operation in operations().items() if operation.space.leads)


def _assumed(problem: Problem, stated: frozenset[str], assumptions: Assumptions) -> bool:
    """Say whether a row has one of the assumed values in each column that its table states."""
    if assumptions.operation and problem.operation.name != assumptions.operation:
        return False
    return all(
        any(put(problem, name, value) == problem for value in values)
        for name, values in assumptions.columns.items()
        if name in stated
    )


def _class_index(factor: Factor, name: str) -> int:
    names = [cls.name for cls in factor.classes]
    if name not in names:
        raise UsageError(f"--assume {factor.name}={name}: no such class; known are {', '.join(names)}")
    return names.index(name)
