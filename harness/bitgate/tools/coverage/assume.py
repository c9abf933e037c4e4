"""Assumptions about what a table does not state: ``--assume NAME=VALUE[,VALUE...]``, and the constants of its
kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from bitgate.core.errors import UsageError, near
from bitgate.model import Operation, Problem, operations
from bitgate.model.space.column import Column
from bitgate.model.space.factor import Constants
from bitgate.model.space.table import NamedProblem, Table


def _vector(constants: Constants, text: str) -> Constants:
    return replace(constants, vector=_positive("vector", text))


def _tile(constants: Constants, text: str) -> Constants:
    parts = text.split("x")
    if len(parts) != 3:
        raise UsageError(f"--assume tile={text}: give M x N x K, such as tile=128x128x32")
    m, n, k = (_positive("tile", part) for part in parts)
    return replace(constants, tile=(m, n, k))


def _split_n_bytes(constants: Constants, text: str) -> Constants:
    return replace(constants, split_n_bytes=_positive("split_n_bytes", text))


_CONSTANTS: dict[str, Callable[[Constants, str], Constants]] = {
    "vector": _vector,
    "tile": _tile,
    "split_n_bytes": _split_n_bytes,
}


def columns() -> dict[str, Column]:
    """Return the columns of all operations by name."""
    return {name: column for one in operations().values() for name, column in one.space.columns.items()}


def factor_names() -> list[str]:
    """Return the names of the factors of all operations."""
    return list(dict.fromkeys(factor.name for one in operations().values() for factor in one.space.factors))


def put(problem: Problem, name: str, text: str) -> Problem | None:
    """Return the problem with the column's value, unchanged if its operation has no such column; None if there is no
    such problem."""
    column = problem.operation.space.columns.get(name)
    return problem if column is None else column.put_if_possible(problem, text)


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of a question about a table.

    ``columns`` give every row these values (each row once a combination). ``classes`` restrict the field of interest to
    these classes of a factor. ``operation`` is that of rows that do not name one.
    """

    constants: Constants = field(default_factory=Constants)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    operation: str = ""

    @classmethod
    def parse(cls, texts: Iterable[str], factor_names: Sequence[str]) -> Assumptions:
        """Parse ``NAME=VALUE[,VALUE...]``. Raises UsageError with the name that is unknown."""
        result = cls()
        for text in texts:
            name, _, values = (part.strip() for part in text.partition("="))
            if not name or not values:
                raise UsageError(f"--assume {text}: write NAME=VALUE, such as numd=0 or split_k=1,2")
            result = result._with(name, tuple(values.split(",")), factor_names)
        return result

    def _with(self, name: str, values: tuple[str, ...], factor_names: Sequence[str]) -> Assumptions:
        if name == "pass":
            if values[0] not in operations():
                raise UsageError(f"--assume pass={values[0]}: give one of {', '.join(operations())}")
            return replace(self, operation=values[0])
        if name in _CONSTANTS:
            return replace(self, constants=_CONSTANTS[name](self.constants, values[0]))
        if name in columns():
            return replace(self, columns={**self.columns, name: values})
        if name in factor_names:
            return replace(self, classes={**self.classes, name: values})
        known = ["pass", *_CONSTANTS, *columns(), *factor_names]
        raise UsageError(f"--assume {name}=...: no such quantity: {near(name, known)}")

    def spread(self, problem: Problem, stated: frozenset[str]) -> list[Problem]:
        """Return the problem once for each combination of the assumed columns that the table does not state, if there
        is such a problem."""
        names = [name for name in self.columns if name not in stated]
        spread = []
        for values in product(*(self.columns[name] for name in names)):
            variant: Problem | None = problem
            for name, value in zip(names, values, strict=True):
                try:
                    variant = variant and put(variant, name, value)
                except ValueError as error:
                    raise UsageError(f"--assume {name}={value}: {error}") from None
            spread += [variant] if variant else []
        return spread


def _positive(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"--assume {name}={text}: give a positive number")
    return int(text)


def all_columns() -> frozenset[str]:
    """Return the columns of a table that states every quantity."""
    return frozenset(columns())


def empty_table() -> Table:
    """Return a table without cases, from which a new one is generated."""
    return Table("nothing", (), all_columns())


def spread(table: Table, assumptions: Assumptions) -> Iterator[NamedProblem]:
    """Yield the rows as they run under the assumptions: once for each assumed value of a column that the table
    lacks."""
    for row in table.rows:
        for problem in assumptions.spread(row.problem, table.stated):
            yield NamedProblem(row.name, problem)


def counted_columns(operation: Operation, stated: frozenset[str], assumptions: Assumptions) -> frozenset[str]:
    """Return the columns whose factors take part: those that vary by statement or by assumption.

    Where the operation says so, a quantity that is not mentioned is known to be plain, so that its other values are
    holes.
    """
    varied = {name for name, values in assumptions.columns.items() if len(values) > 1}
    fixed = {name for name, values in assumptions.columns.items() if len(values) == 1}
    plain = {name for name, column in operation.space.columns.items() if column.is_plain}
    return frozenset((stated | varied | plain) - fixed)
