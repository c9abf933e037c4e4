"""Mistakes: other computations that known defects make, whose values the wrong cells may hold.

A rule lists mistakes of its operation, and ``explained_by`` recomputes wrong cells by each. Only one that gives every
recomputed cell is reported, and the finding states how many cells these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import isinf, isnan, log2
from typing import Any, Generic

import ml_dtypes
import numpy as np

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.rounding import rounded
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene
from bitgate.verify.diagnose.sums import Floats, Index, S, Terms, cells_at_most

Value = Callable[[Index], float]

SURPLUS_BITS = 6
"""The bits by which the recomputed cells must say more than the choice among the mistakes takes."""
BUDGET = 200_000_000
"""The most products that may be recomputed, if each mistake fails at the first cell."""
LEAST_RIGHT = 16
"""The least number of right cells that are recomputed: a mistake may concern the wrong ones only."""
DENSER = 8
"""The cells are drawn from a sample that is denser by this factor: zeros often lie in regular places."""
FEWEST = 4
"""The least number of cells that hold a number other than 0, where more are wrong."""
MOST_NAMED = 2
"""A finding names at most this many mistakes that explain the cells equally well."""


@dataclass(frozen=True)
class Mistake:
    """A computation that a defect makes: ``value`` is what a cell then holds, before it is rounded to its type.

    ``convert`` rounds it as the defect does; None: as the type demands. ``is_open`` returns whether a cell depends on
    memory of which nothing is known, so that it may hold anything.
    """

    text: str
    kind: str
    value: Value
    convert: Callable[[Floats], Array] | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    is_open: Callable[[Index], bool] = lambda cell: False


@dataclass(frozen=True, eq=False)
class Recomputed(Generic[S]):
    """Some wrong cells of a scene, and the products that each of them sums."""

    scene: Scene[S]
    terms: Terms[S]

    @cached_property
    def places(self) -> list[Index]:
        """The cells as indices into the scene's result, most of them without a 0 where there are enough."""
        scene = self.scene
        limit = cells_at_most(scene.problem.operation.numerics.terms(scene.problem))
        cells = list(scene.sample(DENSER * limit))
        telling = _spread([cell for cell in cells if scene.result[cell] != 0], limit)
        silent = _spread([cell for cell in cells if scene.result[cell] == 0], max(limit // 4, limit - len(telling)))
        return [*telling, *silent]

    @cached_property
    def further_places(self) -> list[Index]:
        """Other cells at no regular distance: evenly spread ones may be alike in channel or row."""
        scene = self.scene
        places, most = np.flatnonzero(scene.wrong), len(self.places)
        chosen = np.random.default_rng(0).choice(places, min(most, places.size), replace=False)
        return [tuple(int(i) for i in np.unravel_index(place, scene.wrong.shape)) for place in sorted(chosen)]

    @cached_property
    def right_places(self) -> list[Index]:
        """Some cells that are right."""
        return list(self.scene.sample(max(LEAST_RIGHT, len(self.places) // 3), wrong=False))

    @cached_property
    def _products(self) -> dict[Index, Floats]:
        return {}

    def products(self, cell: Index) -> Floats:
        """Return the products of a cell, by its coordinates in the whole tensor."""
        if cell not in self._products:
            self._products[cell] = self.terms(self.scene.problem, self.scene.inputs, cell)
        return self._products[cell]

    def sum(self, cell: Index) -> float:
        return float(self.products(cell).sum())

    def d(self, cell: Index) -> float:
        return float(self.scene.inputs["d0"][cell])

    def slack(self, cell: Index) -> float:
        """Return how far the cell may be from its recomputed value: 0 where sums are exact."""
        if self.scene.exact:
            return 0.0
        op, products = self.scene.problem.op, np.abs(self.products(cell))
        size = abs(op.alpha) * float(products.sum()) + (abs(op.beta * self.d(cell)) if op.num_d else 0.0)
        places = mantissa_bits(self.scene)
        return size * ((products.size + 4) * 2.0**-24 + 2.0 ** (2 - places))


def _spread(cells: Sequence[Index], limit: int) -> list[Index]:
    places = np.linspace(0, len(cells) - 1, min(limit, len(cells))).astype(np.intp)
    return [cells[place] for place in places]


def explained_by(known: Recomputed[S], mistakes: Iterable[Mistake]) -> Finding | None:
    """Return the finding of those mistakes that give every recomputed cell, None if none does.

    Of reductions with many products only the first mistakes are tried.
    """
    scene, places = known.scene, known.places
    limit = BUDGET // max(1, scene.problem.operation.numerics.terms(scene.problem))
    tried = 0
    left: list[Mistake] = []
    for mistake in islice(mistakes, limit):
        tried += 1
        if _explains(known, places, mistake):
            left.append(mistake)
    left = [mistake for mistake in left if _explains(known, known.further_places, mistake)]
    if not left or not _tells(known, tried):
        return None
    # A mistake that is everywhere gives the right cells, too: those it leaves as they are.
    wide = [mistake for mistake in left if _explains(known, known.right_places, mistake)]
    left = wide or left
    first, same = _likeliest(left)
    evidence = {**first.evidence, "recomputed": len(places), "tried": tried}
    implied = frozenset({"k_tail", "border", "pad_side", "zero", "shifted", "rounding", "other"}) - {first.kind}
    text = format_list([mistake.text for mistake in same], "or") + (
        "" if wide else " in the wrong cells, not in the right ones"
    )
    return Finding(first.kind, Role.CAUSE, 0.98 if wide else 0.96, text, evidence, implied, examined=len(places))


def _likeliest(left: Sequence[Mistake]) -> tuple[Mistake, list[Mistake]]:
    """Return the likeliest of mistakes that give the same cells, and those that are named.

    A parameter of the window goes before elements that are read elsewhere, of which the first is named as well.
    """
    parameters = [mistake for mistake in left if mistake.kind == "parameter"]
    if left[0].kind == "operand" and parameters:
        return parameters[0], [parameters[0], left[0]]
    return left[0], [mistake for mistake in left if mistake.kind == left[0].kind][:MOST_NAMED]


def _explains(known: Recomputed[S], places: Sequence[Index], mistake: Mistake) -> bool:
    """Return whether each cell holds what the mistake gives, but for open ones, which are fewer than half."""
    left = len(places) // 2
    for place in places:
        if _holds(known, place, mistake):
            continue
        left -= 1
        if left < 0 or not mistake.is_open(known.scene.true_cell(place)):
            return False
    return True


def _holds(known: Recomputed[S], place: Index, mistake: Mistake) -> bool:
    """Return whether a cell holds what the mistake gives."""
    scene = known.scene
    cell = scene.true_cell(place)
    value = mistake.value(cell)
    found = float(scene.result[place])
    if isnan(value) or isnan(found):
        return isnan(value) and isnan(found)
    convert = mistake.convert or (lambda values: rounded(values, scene.dtype))
    bits = bits_of(convert(np.array([value])))
    if bits[0] == bits_of(scene.result[place].reshape(1))[0]:
        return True
    slack = known.slack(cell)
    return slack > 0 and not isinf(found) and abs(value - found) <= slack


def _tells(known: Recomputed[S], tried: int) -> bool:
    """Return whether the cells' values are too many to agree with one of the mistakes by chance.

    A value of magnitude n says log2(n) bits, at most those of its type; zeros and NaN say nothing, nor does a cell that
    is no farther from the right value than its recomputed one may be.
    """
    scene, places = known.scene, known.places
    values = [abs(float(scene.result[place])) for place in places if not _is_near(known, place)]
    finite = [value for value in values if value and not isnan(value) and not isinf(value)]
    most = mantissa_bits(scene)
    evidence_bits = sum(min(most, log2(1 + value)) if scene.exact else most / 2 for value in finite)
    return len(finite) >= min(FEWEST, len(places)) and evidence_bits >= SURPLUS_BITS + log2(tried + 1)


def _is_near(known: Recomputed[S], place: Index) -> bool:
    scene = known.scene
    if scene.exact:
        return False
    return abs(float(scene.result[place]) - float(scene.reference[place])) <= known.slack(scene.true_cell(place))


def mantissa_bits(scene: Scene[S]) -> int:
    """Return the significant bits of the result's type."""
    dtype = scene.dtype
    if not dtype.is_float:
        return 8 * dtype.bytes
    return int(ml_dtypes.finfo(dtype.numpy).nmant) + 1  # type: ignore[no-untyped-call]
