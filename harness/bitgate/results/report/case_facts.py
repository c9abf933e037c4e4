"""The facts of cases on record: those of the problem, of the instance's name, and of what was chosen and dispatched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property

from bitgate.model import Problem, operation_called, parse_case_id
from bitgate.model.facts import Facts, names_of, numbers_of, worded_classes
from bitgate.results.report.case_sample import CaseOnRecord
from bitgate.results.report.conditions import DISPATCH, CaseFacts

DEFAULT = "default"
"""The value of an option that a case does not state, where another one does."""
MOST_PARTS = 60
"""Parts of instances' names: those of the most instances, each of several."""


class FactReader:
    """Reads the facts of cases; those of a problem that cannot be read here are left out."""

    def __init__(self, cases: Sequence[CaseOnRecord]) -> None:
        self._cases = cases
        self._usual = dict.fromkeys((f"option {name}" for case in cases for name, _ in case.options), DEFAULT)

    @cached_property
    def _instances(self) -> dict[str, Facts]:
        """The facts of each instance: its name, and whether that has the parts that several names have."""
        parts = {name: frozenset(name.split("_")) for name in dict.fromkeys(case.instance for case in self._cases)}
        often = Counter(part for of in parts.values() for part in sorted(of)).most_common(MOST_PARTS)
        shared = [part for part, count in often if 1 < count < len(parts)]
        return {
            name: {"instance": name, **{f"instance with {part}": "yes" if part in of else "no" for part in shared}}
            for name, of in parts.items()
        }

    @cached_property
    def _problems(self) -> dict[str, Facts]:
        return problem_facts(dict.fromkeys(case.case for case in self._cases))

    def of(self, cases: Iterable[CaseOnRecord]) -> list[CaseFacts]:
        """Return the facts of some of the cases."""
        return [self._of(case) for case in cases]

    def _of(self, case: CaseOnRecord) -> CaseFacts:
        return CaseFacts(
            {
                "problem": self._problems.get(case.case, {}),
                "dispatch": {f"{DISPATCH}{name}": value for name, value in case.dispatch},
                "instance": self._instances[case.instance],
                "options": self._usual | {f"option {name}": value for name, value in case.options},
                "run": {"fill": case.fill, "schedule": case.schedule},
            },
            {
                "problem": case.case,
                "dispatch": f"{case.case} {case.instance} {case.options}",
                "instance": case.instance,
                "options": str(case.options),
                "run": f"{case.fill} {case.schedule}",
            },
        )


def problem_facts(case_ids: Iterable[str]) -> dict[str, Facts]:
    """Return the facts of the problem of each case id; ids that cannot be read here have none.

    A machine that merges results may not know a user's operation, and a user's operation may raise anything.
    """
    by_operation: dict[str, dict[str, Problem]] = {}
    for case in case_ids:
        with suppress(Exception):
            problem = parse_case_id(case)
            by_operation.setdefault(problem.operation.name, {})[case] = problem
    found: dict[str, Facts] = {}
    for name, problems in by_operation.items():
        with suppress(Exception):
            space = operation_called(name).space
            worded = worded_classes(space, list(problems.values()))
            found |= {
                case: {"operation": name, **classes, **names_of(space, problem), **numbers_of(space, problem)}
                for (case, problem), classes in zip(problems.items(), worded, strict=True)
            }
    return found
