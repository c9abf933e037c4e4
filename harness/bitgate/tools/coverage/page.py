"""The coverage page: ranked holes, and a pairwise matrix of factors that opens to classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.results.report.page import house
from bitgate.tools.coverage.survey import Survey


@dataclass(frozen=True)
class FactorGrid:
    """Two factors: their classes against each other (rows: the first factor's)."""

    first: int
    second: int
    cells: tuple[tuple[ClassPair, ...], ...]

    @property
    def holes(self) -> int:
        return sum(cell.state == "hole" for row in self.cells for cell in row)

    @property
    def possible(self) -> int:
        return sum(cell.state in ("hole", "covered") for row in self.cells for cell in row)


@dataclass(frozen=True)
class ClassPair:
    """Two classes: ``state`` is covered, hole, plan-only (a hole that needs gigabytes) or impossible."""

    state: str
    cases: int


def blocks(survey: Survey) -> list[FactorGrid]:
    """Return the grids of all pairs of factors."""
    levels = survey.levels
    pairs = levels.levels[1]
    covered, possible, plan_only = levels.covered[1], levels.possible[1], levels.plan_only[1]
    found = []
    for number, (first, second) in enumerate(pairs.sets):
        counts = np.zeros(pairs.shape(number), dtype=np.int64)
        np.add.at(counts, (survey.codes[:, first], survey.codes[:, second]), 1)
        state = np.where(
            pairs.of_set(covered, number),
            "covered",
            np.where(
                ~pairs.of_set(possible, number),
                "impossible",
                np.where(pairs.of_set(plan_only, number), "plan-only", "hole"),
            ),
        )
        rows = zip(state.tolist(), counts.tolist(), strict=True)
        cells = tuple(tuple(ClassPair(s, c) for s, c in zip(states, cases, strict=True)) for states, cases in rows)
        found.append(FactorGrid(first, second, cells))
    return found


def write_page(path: Path, surveys: Sequence[Survey], document: Mapping[str, Any]) -> None:
    """Write one self-contained HTML file; ``document`` is what ``--json`` prints."""
    parts = []
    for survey in surveys:
        grid = {(block.first, block.second): block for block in blocks(survey)}
        parts.append({"name": str(survey.operation), "factors": survey.scope.factors, "grid": grid})
    house.write_page(path, house.render("coverage.html.j2", styles=("coverage.css",), document=document, parts=parts))
