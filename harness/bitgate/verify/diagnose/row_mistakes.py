"""Mistakes that change whole rows of a result: rows are recomputed as a defect would compute them, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.model.sized import SizedProblem
from bitgate.numerics.rounding import rounded, smallest
from bitgate.verify.diagnose.scene import Scene

WRONG_ROWS, RIGHT_ROWS = 48, 16
"""The most rows that are recomputed."""
MOST_CELLS = 1 << 20

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RowMistake:
    """A computation that a defect makes: ``outputs`` are the recomputed rows of each output that it changes."""

    text: str
    outputs: Mapping[str, Floats]
    kind: str = "other"


@dataclass(frozen=True)
class KnownRows:
    """Some rows of a scene: all their cells, and which are wrong."""

    scene: Scene[SizedProblem]

    @property
    def terms(self) -> int:
        """The number of cells that a row's sums have."""
        return int(self.scene.problem.sizes.c)

    @property
    def work(self) -> int:
        """The number of cells that recomputing one row takes."""
        return self.terms

    def by_row(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an output with one row after the other along its first axis."""
        return array

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        cells = self.by_row(self.scene.wrong)
        wrong = cells.reshape(cells.shape[0], -1).any(axis=1)
        most = max(2, MOST_CELLS // self.work)
        bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
        bad = bad[:: max(1, bad.size // WRONG_ROWS)][: min(WRONG_ROWS, most)]
        return np.concatenate([bad, good[:: max(1, good.size // RIGHT_ROWS)][: min(RIGHT_ROWS, most)]])

    def input(self, role: str) -> Floats:
        """Return the chosen rows of what is read."""
        return np.asarray(self.scene.inputs[role], np.float64)[self.rows]

    @cached_property
    def x(self) -> Floats:
        return self.input("x")

    @cached_property
    def wrong(self) -> Mask:
        return np.asarray(self.by_row(self.scene.wrong)[self.rows])

    def agrees(self, values: Floats) -> Mask:
        """Return a mask of the cells that hold these values but for rounding; NaN is like NaN."""
        return self._near(self.scene.result, values)

    def differs(self, values: Floats) -> Mask:
        """Return a mask of the cells that hold another value when they are right."""
        return ~self._near(self.scene.reference, values)

    def _near(self, output: NDArray[Any], values: Floats) -> Mask:
        with np.errstate(over="ignore", invalid="ignore"):
            cells = self.by_row(output)[self.rows].astype(np.float64)
            is_near = (cells == self._rounded(values)) | (np.abs(cells - values) <= self._slack(values))
            return np.asarray(is_near | (np.isnan(cells) & np.isnan(values)))

    def _rounded(self, values: Floats) -> Floats:
        return np.asarray(rounded(values, self.scene.dtype).astype(np.float64))

    def _slack(self, values: Floats) -> Floats:
        last = 0.0 if self.scene.exact else 2.0 ** (1 - self.scene.dtype.mantissa)
        own = last + (8 * self.terms + 64) * 2.0**-24
        return np.asarray(own * np.abs(values) + smallest(self.scene.dtype))


def explained(known: KnownRows, mistakes: Iterable[RowMistake]) -> Finding | None:
    """Return the finding of the first mistake that gives every wrong cell of the rows, best one that gives all cells.

    The mistake must change most of these cells by more than rounding does.
    """
    scene, wrong, found = known.scene, known.wrong, None
    for tried, mistake in enumerate(mistakes, 1):
        values = mistake.outputs.get(scene.role)
        if values is None:
            continue
        agrees = known.agrees(values)
        if not agrees[wrong].all() or 2 * np.count_nonzero(known.differs(values)[wrong]) <= np.count_nonzero(wrong):
            continue
        is_wide = bool(agrees.all())
        evidence = {"recomputed": int(np.count_nonzero(wrong)), "rows": int(known.rows.size), "tried": tried}
        implied = frozenset({"k_tail", "channel_tail", "zero", "shifted", "rounding", "overflow", "other"})
        text = mistake.text + ("" if is_wide else " in the wrong cells, not in the right ones")
        finding = Finding(
            mistake.kind, Role.CAUSE, 0.98 if is_wide else 0.96, text, evidence, implied - {mistake.kind},
            examined=evidence["recomputed"],
        )  # fmt: skip
        if is_wide:
            return finding
        found = found or finding
    return found
