"""The value of a plan's case: the pairs of factor classes it has, the instance it runs, the defects it kills."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model import operation_called, parse_case_id
from bitgate.model.space.factor import Constants, classify
from bitgate.results.plan import PlannedItem
from bitgate.suite.tier_solver import FeaturedCase

WEIGHTS = {"pair": 1.0, "instance": 30.0, "refusal": 30.0, "kill": 300.0}
"""Weight of a feature by kind: a defect that only this case kills is worth some hundred pairs."""

Feature = tuple[str, ...]
"""A kind, then what it names: ("pair", "bwd_data", "g=1", "gemms_count=9-31"), ("kill",
"flat_path_drops_sub_gemms")."""


@dataclass(frozen=True, eq=False)
class Features:
    names: tuple[Feature, ...]
    candidates: tuple[FeaturedCase, ...]

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.array([WEIGHTS[name[0]] for name in self.names])

    def counts(self, flags: NDArray[np.bool_]) -> dict[str, int]:
        """Count the flagged features of each kind."""
        kinds = np.array([name[0] for name in self.names])
        return {kind: int((flags & (kinds == kind)).sum()) for kind in WEIGHTS}


def features(items: Sequence[PlannedItem], killers: Mapping[str, Iterable[str]]) -> Features:
    """Return the features of a plan's items.

    ``killers``: for each seeded defect the ids of cases that found it (``read_killers``).
    """
    numbers: dict[Feature, int] = {}
    killed: dict[str, list[str]] = {}
    for fault, ids in killers.items():
        for one in ids:
            killed.setdefault(one, []).append(fault)
    pairs = _pairs(items)
    candidates = []
    for item in items:
        named: list[Feature] = [("kill", fault) for fault in killed.get(item.id, [])]
        if item.refused:
            named.append(("refusal", item.key.kernel, item.refused))
        else:
            named += [("instance", item.suite, item.key.kernel, item.key.instance), *pairs[item.key.case]]
        candidates.append(FeaturedCase(item, np.array([numbers.setdefault(n, len(numbers)) for n in named], np.int64)))
    return Features(tuple(numbers), tuple(candidates))


def _pairs(items: Sequence[PlannedItem]) -> dict[str, list[Feature]]:
    """Return the pairs of factor classes of every problem."""
    problems = {item.key.case: parse_case_id(item.key.case) for item in items}
    by_operation: dict[str, list[str]] = {}
    for case, problem in problems.items():
        by_operation.setdefault(problem.operation.name, []).append(case)
    found: dict[str, list[Feature]] = {}
    for name, cases in by_operation.items():
        space = operation_called(name).space
        if not space.factors:
            found.update({case: [] for case in cases})
            continue
        codes = classify(space.batch([problems[case] for case in cases]), space.factors, Constants())
        for case, row in zip(cases, codes, strict=True):
            classes = [f"{f.name}={f.classes[code].name}" for f, code in zip(space.factors, row, strict=True)]
            found[case] = [("pair", name, *pair) for pair in combinations(classes, 2)]
    return found


def read_killers(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Read the cases that found each defect from the output of ``bitgate faults run --json``.

    Raises UsageError for another file.
    """
    killers: dict[str, list[str]] = {}
    for path in paths:
        try:
            faults = json.loads(path.read_text())["faults"]
            for fault in faults:
                if fault["killed"]:
                    killers.setdefault(fault["name"], []).append(_case_of(fault["by"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}: not what bitgate faults run --json prints ({error})") from None
    return killers


def _case_of(by: str) -> str:
    """Return the planned id within a pytest node id."""
    return by.partition("[")[2].removesuffix("]") or by
