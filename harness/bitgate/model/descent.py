"""Going down: from one thing to the smallest of its kind that is reached by steps which keep what one looks for.

The one engine of all that shrinks; what a step is, and in which order steps are tried, its caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Descent(Generic[Thing]):
    """The end of a descent; ``minimal``: no step from there keeps the property, otherwise the descent was cut short."""

    best: Thing
    minimal: bool


def descend(
    start: Thing,
    smaller: Callable[[Thing], Iterable[Thing]],
    keeps: Callable[[Thing], bool],
    *,
    change: Callable[[Thing, Thing], Hashable] | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Descent[Thing]:
    """Take the first step that ``keeps``, of those that ``smaller`` gives in order, until there is none.

    ``change`` says what a step changes, where asking is dear: a change that once lost it seldom keeps it a step later,
    and waits until no other is left.
    """
    best = start
    lost: set[Hashable] = set()
    while not is_over():
        waiting, postponed = frozenset(lost), False
        for step in smaller(best):
            kind = change(best, step) if change else None
            if kind in waiting:
                postponed = True
            elif keeps(step):
                best = step
                break
            elif is_over():
                return Descent(best, False)
            elif kind is not None:
                lost.add(kind)
        else:
            if not postponed:
                return Descent(best, True)
            lost.clear()
    return Descent(best, False)
