"""``@cases``: a test function asks for the rows of a case table; ``verified`` and ``refused`` make the usual ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.table_fields import FieldError
from bitgate.model import Problem
from bitgate.results.record import Verdict
from bitgate.suite import vocabulary
from bitgate.suite.expand import expand
from bitgate.suite.row import CaseRow, near
from bitgate.suite.table import DEFAULT_SET, TABLE
from bitgate.verify.planned import PlannedCase

MARK = "bitgate_cases"
Test = TypeVar("Test", bound=Callable[..., None])


NEEDS = ("dispatch", "refused")
"""What a test may need every row to state: without it the test would hold nothing."""


def cases(table: str, *, needs: str = "", **factors: Any) -> Callable[[Test], Test]:
    """Run the test once for every planned case of ``table``: a suite's name, or ``suite#set``.

    ``factors`` keep the cases whose factor has that value, or one of the listed values; a listed value that no case
    has is an error, so that a test cannot lose a class unseen. ``needs``: a statement that every row must make, since
    the test holds the verdict to it (``dispatch`` or ``refused``). The test may take these arguments: ``planned`` (the
    planned case), ``row`` (the table's row), ``check`` (call it with ``planned``: verifies, records, fails if red,
    and returns the Verdict), ``expect_dispatch`` (call it with the Verdict: what ran is what the row's ``dispatch``
    states), and each factor that it names.
    """
    mark = pytest.MarkDecorator(pytest.Mark(MARK, (table, needs), factors, _ispytest=True), _ispytest=True)
    return mark


def verified(table: str, *, by: Callable[..., Verdict] | None = None, **factors: Any) -> Callable[..., None]:
    """Return the test that most sets need: each planned case is green. ``by``: another judge."""

    def test(planned: PlannedCase, check: Callable[..., Verdict]) -> None:
        check(planned, by=by)

    test.by = by  # type: ignore[attr-defined]
    return cases(table, **factors)(_of_module(test))


def refused(table: str) -> Callable[..., None]:
    """Return the test of a set of refusals: each row states its clause, and the kernel names that one."""

    def test(planned: PlannedCase, row: CaseRow, check: Callable[..., Verdict]) -> None:
        clause, _, _ = check(planned).reason.partition(":")
        if clause != row.refused:
            pytest.fail(f"refused by {clause}; stated is {row.refused}", pytrace=False)

    return cases(table, needs="refused")(_of_module(test))


def _of_module(test: Test) -> Test:
    """Let pytest show a test where it is written: in the suite's module, not here."""
    test.place_as = sys._getframe(2).f_code  # type: ignore[attr-defined]
    return test


@dataclass(frozen=True)
class Ask:
    """The cases that one test function asks for."""

    suite: str
    set_name: str
    table: Path
    factors: Mapping[str, tuple[Any, ...]]
    needs: str = ""

    @classmethod
    def of(cls, mark: pytest.Mark, module: Path, project: Project) -> Ask:
        """Raises UsageError if there is no such table or factor. Tables are looked for beside the module's folder,
        then among the project's suites and bitgate's own."""
        suite, _, set_name = str(mark.args[0]).partition("#")
        for name in mark.kwargs:
            if name not in (known := vocabulary.properties()):
                raise UsageError(f"{module}: @cases: no factor is called '{name}'; {near(name, known)}")
        needs = str(mark.args[1])
        if needs and needs not in NEEDS:
            raise UsageError(f"{module}: @cases: needs='{needs}': {near(needs, NEEDS)}")
        folders = [folder / suite for folder in (module.parent.parent, *project.shelves)]
        table = next((folder / TABLE for folder in folders if (folder / TABLE).is_file()), folders[0] / TABLE)
        listed = {name: tuple(v) if isinstance(v, (list, tuple)) else (v,) for name, v in mark.kwargs.items()}
        return cls(suite, set_name or DEFAULT_SET, table, listed, needs)

    def check(self, rows: Iterable[CaseRow]) -> None:
        """Raises UsageError for a row that does not state what the test needs, and for a listed value that no row
        has, whatever tier or kernel this run is about."""
        rows = list(rows)
        for row in rows:
            if self.needs and not getattr(row, self.needs):
                field_name = {"refused": "expect"}.get(self.needs, self.needs)
                raise FieldError(
                    row.origin, field_name, "is missing, and the set's test holds each row to it; state it"
                )
        if not self.factors:
            return
        problems = [candidate.problem for row in rows for candidate in expand(row)]
        kept = [problem for problem in problems if self.has_factors(problem)]
        for name, values in self.factors.items():
            if missing := set(values) - {value_of(problem, name) for problem in kept}:
                raise UsageError(
                    f"{self.table}: [[{self.set_name}]]: no case has {name} = {min(missing)}, which a test asks for"
                )

    def has_factors(self, problem: Problem) -> bool:
        return all(value_of(problem, name) in values for name, values in self.factors.items())


def value_of(problem: Problem, factor: str) -> Any:
    return vocabulary.value_of(problem, factor)
