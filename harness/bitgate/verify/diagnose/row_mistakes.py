"""Mistakes that change whole rows of a result: rows are recomputed as a defect would compute them, and compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.model.sized import SizedProblem
from bitgate.numerics.rounding import rounded, smallest
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene

WRONG_ROWS, RIGHT_ROWS = 48, 16
"""The most rows that are recomputed."""
MOST_CELLS = 1 << 20
MOST_NAMED = 2
MANY = 64
"""Changed cells that no mistake gives by chance, though most of the wrong cells say nothing."""
DIGITS = re.compile(r"\d+")
NEXT_TRIED = 48
"""The number of further mistakes that are tried once one gives every cell: they may give the same."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RowMistake:
    """A computation that a defect makes: ``outputs`` are the recomputed rows of each output that it changes.

    ``operand`` is the role of what is read by mistake, where it is one and the mistake is a likely one.
    """

    text: str
    outputs: Mapping[str, Floats]
    kind: str = "other"
    operand: str = ""


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


def _is_telling(known: KnownRows, values: Floats) -> bool:
    """Return whether a mistake changes most of the wrong cells by more than rounding does, or a quarter of very many.

    Where large numbers cancel each other rounding may change many cells as much as the mistake does.
    """
    changed, wrong = np.count_nonzero(known.differs(values)[known.wrong]), np.count_nonzero(known.wrong)
    return bool(2 * changed > wrong or (changed >= MANY and 4 * changed > wrong))


def explained(known: KnownRows, mistakes: Iterable[RowMistake]) -> Finding | None:
    """Return the finding of the mistake that gives every wrong cell of the rows, best one that gives all cells.

    The mistake must change most of these cells, or many, by more than rounding does. Another one among the next
    NEXT_TRIED that gives all cells as well is named with it. Where every cell is NaN any read of padding agrees: then
    all that agree must be of one operand.
    """
    scene, wrong = known.scene, known.wrong
    is_nan = bool(np.isnan(known.by_row(scene.result)[known.rows].astype(np.float64))[wrong].all())
    wide: list[RowMistake] = []
    narrow: list[RowMistake] = []
    shapes: set[str] = set()
    until = None
    tried = 0
    for mistake in mistakes:
        if tried == until:
            break
        tried += 1
        values = mistake.outputs.get(scene.role)
        if values is None:
            continue
        agrees = known.agrees(values)
        if not agrees[wrong].all() or not _is_telling(known, values):
            continue
        if is_nan and mistake.kind == "operand" and not mistake.operand:
            continue
        shape = DIGITS.sub("#", mistake.text)
        if shape in shapes:  # the same mistake, of another tile
            continue
        shapes.add(shape)
        (wide if agrees.all() else narrow).append(mistake)
        if len(wide) == MOST_NAMED and not is_nan:
            break
        if wide and until is None and not is_nan:
            until = tried + NEXT_TRIED
    left = wide or narrow[:1]
    if not left or (is_nan and len({mistake.operand for mistake in (*wide, *narrow)}) > 1):
        return None
    first = left[0]
    evidence = {"recomputed": int(np.count_nonzero(wrong)), "rows": int(known.rows.size), "tried": tried}
    implied = frozenset({"k_tail", "channel_tail", "zero", "shifted", "rounding", "overflow", "other"}) - {first.kind}
    named = left[: 1 if first.operand and is_nan else MOST_NAMED]  # of one operand the first words say most
    text = format_list([mistake.text for mistake in named], "or")
    text += "" if wide else " in the wrong cells, not in the right ones"
    text += ", as far as NaN shows" if is_nan else ""
    score = 0.98 if wide else 0.96
    return Finding(first.kind, Role.CAUSE, score, text, evidence, implied, examined=evidence["recomputed"])
