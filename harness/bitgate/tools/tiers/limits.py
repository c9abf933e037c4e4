"""Problems on both sides of the limits of a kernel: the last that it takes, and the first that it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from bitgate.kernel.resolved import Kernel
from bitgate.model import ProblemError

BEYOND = 1 << 17
"""A length beyond a grid's limit along its second and third dimension. Larger limits are those of whole tensors."""


@dataclass(frozen=True)
class Limit:
    """The limit of one length or split: the problem of ``last`` is taken, that of one more refused by ``clause``."""

    name: str
    clause: str
    last: Any
    first: Any


def limits(kernel: Kernel, problem: Any) -> Iterator[Limit]:
    """Yield the limits of a problem that the kernel takes, of each length and of the split for itself."""
    for name in (one.name for one in fields(problem) if type(getattr(problem, one.name)) is int):
        found = _limit(kernel, problem, name)
        if found is not None:
            yield found


def _limit(kernel: Kernel, problem: Any, name: str) -> Limit | None:
    """Return the limit of one number by halving, if the kernel takes more than the problem has and less than BEYOND."""
    low, high = getattr(problem, name), BEYOND
    try:
        if low < 1 or kernel.refusal(replace(problem, **{name: high})) is None:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            is_taken = kernel.refusal(replace(problem, **{name: middle})) is None
            low, high = (middle, high) if is_taken else (low, middle)
        last, first = (replace(problem, **{name: value}) for value in (low, high))
        refusal = kernel.refusal(first)
    except ProblemError:
        return None
    return Limit(name, refusal.clause, last, first) if refusal is not None and last != problem else None
