"""Gaps of one tensor, by name: ``gapinw8`` puts 8 unused elements after each row of axis w of ``in``.

The axes of a tensor are in memory from the outermost to the innermost. A row of an axis is all its entries in their
order, each with everything inside it; the axes outside it count rows. ``gapinw8`` of one image of layout nhwgc, with h
= 2, w = 3, g = 1 and c = 4, one letter for each element, ``.`` for an unused one::

    h=0  cccc cccc cccc ........        strides: c 1, g 4, w 4, h 3 * 4 + 8 = 20, n 2 * 20
    h=1  cccc cccc cccc ........

Nothing follows the last row of a tensor: its guard zone begins there.

The innermost axis counts elements, and an element is a row, too, of the axis ``e`` that every tensor has inside it
without a letter in its layout. So ``gapine1`` puts an unused element after each: channels are 2 elements apart. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from bitgate.model.problem import MAX_LENGTH, ProblemError

_WORD = re.compile(r"gap(?P<tensor>[a-z0-9]+)(?P<axis>[a-z])(?P<elements>\d+)")

GAP_WORDS = "gap, gap<tensor><axis><n>"
"""The words of case ids for gaps, for messages."""

ELEMENT = "e"
"""The axis after whose rows, single elements, a gap sets the innermost axis' stride; a tensor with an axis of that name
has none."""


@dataclass(frozen=True)
class Gap:
    """A gap of ``elements`` unused elements after each row of an axis of a tensor.

    ``tensor`` is the name that case ids use, ``axis`` the letter in the layout.
    """

    tensor: str
    axis: str
    elements: int

    def __str__(self) -> str:
        """Return the word of case ids: ``gapinw8``."""
        return f"gap{self.tensor}{self.axis}{self.elements}"

    @property
    def in_words(self) -> str:
        return f"gap {self.tensor} {self.axis}+{self.elements}"


Gaps = tuple[Gap, ...]


def gap_of(word: str) -> Gap | None:
    """Return the gap that a word of a case id names; None if it is another word."""
    found = _WORD.fullmatch(word)
    return Gap(found["tensor"], found["axis"], int(found["elements"])) if found else None


class Gapped(Protocol):
    """A problem whose tensors may have gaps."""

    @property
    def gaps(self) -> Gaps: ...

    @property
    def gap_orders(self) -> Mapping[str, str]:
        """The tensors that may have separate gaps: axes in memory order, outermost first, by the name in case ids.

        ELEMENT is not among them.
        """


AnyProblem = TypeVar("AnyProblem")


def packed(problem: AnyProblem) -> AnyProblem:
    """Return the problem without gaps: the same data and results, in as little memory as they take."""
    if not hasattr(problem, "gap_orders"):
        return problem
    without: AnyProblem = replace(problem, gap=False, gaps=())  # type: ignore[type-var]
    return without


def settle_gaps(problem: Gapped) -> None:
    """Puts the gaps of a frozen problem that is being made in the order of case ids. ProblemError for one that cannot
    be."""
    if problem.gaps:
        object.__setattr__(problem, "gaps", settled(problem.gaps, problem.gap_orders))


def settled(gaps: Gaps, orders: Mapping[str, str]) -> Gaps:
    """Return the gaps in the order of case ids: tensor by tensor, the outermost axis first.

    ``orders`` is as ``Gapped.gap_orders``. Raises ProblemError for a gap that cannot be.
    """
    taken = set[tuple[str, str]]()
    for gap in gaps:
        said = _against(gap, orders)
        if not said and (gap.tensor, gap.axis) in taken:
            said = f"a second gap after {gap.axis} of {gap.tensor}: give their sum"
        if said:
            raise ProblemError(f"{gap}: {said}")
        taken.add((gap.tensor, gap.axis))
    names = list(orders)

    def place(gap: Gap) -> tuple[int, int]:
        return names.index(gap.tensor), f"{orders[gap.tensor]}{ELEMENT}".index(gap.axis)

    return tuple(sorted(gaps, key=place))


def fitting(gaps: Gaps, orders: Mapping[str, str]) -> Gaps:
    """Return the gaps that tensors of these ``orders`` can have."""
    return tuple(gap for gap in gaps if not _against(gap, orders))


def _against(gap: Gap, orders: Mapping[str, str]) -> str:
    """Return why a gap cannot be; empty if it can."""
    if gap.tensor not in orders:
        return f"no tensor '{gap.tensor}' has gaps of its own: {', '.join(orders)} may"
    order = orders[gap.tensor]
    if gap.axis not in order and not (order and gap.axis == ELEMENT):
        return f"tensor {gap.tensor} has no axis '{gap.axis}': {' '.join(order)} are its axes"
    if gap.axis == order[:1]:
        return f"{gap.axis} is the outermost axis of {gap.tensor} ({order}): nothing follows its row"
    if not 1 <= gap.elements <= MAX_LENGTH:
        return f"{gap.elements} elements are outside 1..{MAX_LENGTH}"
    return ""


def apart(problem: object) -> tuple[str, ...]:
    """Return the tensors, by their names in case ids, of a problem whose elements are not neighbours."""
    orders: Mapping[str, str] = getattr(problem, "gap_orders", {})
    gaps: Gaps = getattr(problem, "gaps", ())
    return tuple(gap.tensor for gap in gaps if gap.axis == ELEMENT and ELEMENT not in orders[gap.tensor])


def elements_after(gaps: Iterable[Gap], tensor: str, row: str, elements: int) -> dict[str, int]:
    """Return the elements after each row, by axis of one tensor: its separate gaps, and ``elements`` after axis
    ``row``.
    """
    found = {row: elements}
    for gap in gaps:
        if gap.tensor == tensor:
            found[gap.axis] = found.get(gap.axis, 0) + gap.elements
    return found


def strides_of(order: str, lengths: Mapping[str, int], after_row: Mapping[str, int]) -> dict[str, int]:
    """Return strides in elements by axis.

    ``order`` lists the axes in memory order, the outermost first; ``after_row`` gives unused elements by axis.
    """
    strides = dict[str, int]()
    pitch = 1 + (after_row.get(ELEMENT, 0) if ELEMENT not in order else 0)
    for axis in reversed(order):
        strides[axis] = pitch
        pitch = pitch * lengths[axis] + after_row.get(axis, 0)
    return strides
