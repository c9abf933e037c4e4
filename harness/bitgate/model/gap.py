"""Gaps of one tensor, by name: ``gapinw8`` lays 8 elements that belong to nobody behind each row of axis w of ``in``.

The axes of a tensor lie in memory from the outermost to the innermost. A row of an axis is all its entries in their
order, each with everything that lies inside it; the axes outside it count rows. ``gapinw8`` of one image of layout
nhwgc, with h = 2, w = 3, g = 1 and c = 4, a letter an element, ``.`` one that is nobody's::

    h=0  cccc cccc cccc ........        strides: c 1, g 4, w 4, h 3 * 4 + 8 = 20, n 2 * 20
    h=1  cccc cccc cccc ........

Nothing lies behind the last row of a tensor: there it ends, and its guard zone begins. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bitgate.model.problem import MAX_LENGTH, ProblemError

_WORD = re.compile(r"gap(?P<tensor>[a-z0-9]+)(?P<axis>[a-z])(?P<elements>\d+)")

GAP_WORDS = "gap, gap<tensor><axis><n>"
"""What case ids may say of gaps, for messages."""


@dataclass(frozen=True)
class Gap:
    """``tensor`` as case ids call it, ``axis`` by its letter in the layout; behind each row of the axis ``elements``
    that are nobody's."""

    tensor: str
    axis: str
    elements: int

    def __str__(self) -> str:
        """``gapinw8``."""
        return f"gap{self.tensor}{self.axis}{self.elements}"

    @property
    def in_words(self) -> str:
        return f"gap {self.tensor} {self.axis}+{self.elements}"


Gaps = tuple[Gap, ...]


def gap_of(word: str) -> Gap | None:
    """The gap that a word of a case id names; None if it is another word."""
    found = _WORD.fullmatch(word)
    return Gap(found["tensor"], found["axis"], int(found["elements"])) if found else None


class Gapped(Protocol):
    """A problem whose tensors may have gaps."""

    @property
    def gaps(self) -> Gaps: ...

    @property
    def gap_orders(self) -> Mapping[str, str]:
        """The tensors that may have gaps of their own, by their names in case ids: the axes as they lie, the outermost
        first."""


def settle_gaps(problem: Gapped) -> None:
    """Puts the gaps of a frozen problem that is being made in the order of case ids. ProblemError for one that cannot
    be."""
    if problem.gaps:
        object.__setattr__(problem, "gaps", settled(problem.gaps, problem.gap_orders))


def settled(gaps: Gaps, orders: Mapping[str, str]) -> Gaps:
    """The gaps in the order of case ids: tensor by tensor, the outermost axis first.

    ``orders``: as ``Gapped.gap_orders``. ProblemError for a gap that cannot be.
    """
    taken = set[tuple[str, str]]()
    for gap in gaps:
        said = _against(gap, orders)
        if not said and (gap.tensor, gap.axis) in taken:
            said = f"a second gap behind {gap.axis} of {gap.tensor}: give their sum"
        if said:
            raise ProblemError(f"{gap}: {said}")
        taken.add((gap.tensor, gap.axis))
    names = list(orders)
    return tuple(sorted(gaps, key=lambda gap: (names.index(gap.tensor), orders[gap.tensor].index(gap.axis))))


def fitting(gaps: Gaps, orders: Mapping[str, str]) -> Gaps:
    """Those that such tensors can have."""
    return tuple(gap for gap in gaps if not _against(gap, orders))


def _against(gap: Gap, orders: Mapping[str, str]) -> str:
    """Why there is no such gap; empty if there is."""
    if gap.tensor not in orders:
        return f"no tensor '{gap.tensor}' has gaps of its own: {', '.join(orders)} may"
    order = orders[gap.tensor]
    if gap.axis not in order:
        return f"tensor {gap.tensor} has no axis '{gap.axis}': {' '.join(order)} are its axes"
    if gap.axis == order[0]:
        return f"{gap.axis} is the outermost axis of {gap.tensor} ({order}): there is nothing behind its row"
    if not 1 <= gap.elements <= MAX_LENGTH:
        return f"{gap.elements} elements are outside 1..{MAX_LENGTH}"
    return ""


def behind(gaps: Iterable[Gap], tensor: str, row: str, elements: int) -> dict[str, int]:
    """Elements behind each row of an axis of one tensor: the gaps of its own, and ``elements`` behind axis ``row``."""
    found = {row: elements}
    for gap in gaps:
        if gap.tensor == tensor:
            found[gap.axis] = found.get(gap.axis, 0) + gap.elements
    return found


def strides_of(order: str, lengths: Mapping[str, int], behind_row: Mapping[str, int]) -> dict[str, int]:
    """Strides in elements by axis. ``order``: the axes as they lie, the outermost first; ``behind_row``: elements that
    are nobody's, by axis."""
    strides, pitch = dict[str, int](), 1
    for axis in reversed(order):
        strides[axis] = pitch
        pitch = pitch * lengths[axis] + behind_row.get(axis, 0)
    return strides
