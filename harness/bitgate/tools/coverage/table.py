"""The table that a question is about: read from a file, or made from nothing, and spread over what is assumed."""

from __future__ import annotations

from collections.abc import Iterator

from bitgate.model import Operation
from bitgate.model.space.table import NamedProblem, Table
from bitgate.tools.coverage.assume import Assumptions, columns


def everything() -> frozenset[str]:
    """What a table says that leaves nothing out."""
    return frozenset(columns())


def empty_table() -> Table:
    """No cases: what a table is generated from nothing against."""
    return Table("nothing", (), everything())


def spread(table: Table, assumptions: Assumptions) -> Iterator[NamedProblem]:
    """The rows as they run under the assumptions: once for each assumed value of a column that the table lacks."""
    for row in table.rows:
        for problem in assumptions.spread(row.problem, table.stated):
            yield NamedProblem(row.name, problem)


def counted_columns(operation: Operation, stated: frozenset[str], assumptions: Assumptions) -> frozenset[str]:
    """Columns whose factors take part: those that vary by statement or by assumption. A quantity that nobody mentions
    is known to be plain where the operation says so, so that its other values are holes."""
    varied = {name for name, values in assumptions.columns.items() if len(values) > 1}
    fixed = {name for name, values in assumptions.columns.items() if len(values) == 1}
    plain = {name for name, column in operation.space.columns.items() if column.is_plain}
    return frozenset((stated | varied | plain) - fixed)
