"""Cases of a pool of which one tensor has an unused element after each element: a stride of 2 where 1 is usual.

Few are made, since a mistake in the innermost stride hardly depends on anything else: one for each tensor on each path
of a family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bitgate.model import Tensor
from bitgate.model.gap import ELEMENT, Gap, packed
from bitgate.tools.fuzz.round import fills_of
from bitgate.tools.tiers.cost import VERDICT, CostModel

if TYPE_CHECKING:
    from bitgate.tools.tiers.pool import PoolCase

LONG, ROWS = 64, 4
"""Elements of a row that count as many, since vectors of them may be moved at once, and rows that do."""

Place = tuple[str, str, int]
"""A tensor, by its name in case ids, the path of a kernel and one launch or two."""


@dataclass(frozen=True)
class _Base:
    """A case of the pool for a place; the least rank is taken: of long rows, of several, and then the cheapest."""

    rank: tuple[int, int, float]
    case: PoolCase


def elements_apart(cases: Sequence[PoolCase], costs: CostModel) -> Iterator[PoolCase]:
    """Yield the cases, each made of the best one that a kernel takes; it may refuse what is made."""
    best: dict[Place, _Base] = {}
    for case in cases:
        for place, base in _bases(case) if not case.refused else ():
            if place not in best or base.rank < best[place].rank:
                best[place] = base
    for (tensor, _, _), base in best.items():
        kernel, bare = base.case.kernel, packed(base.case.problem)
        problem: Any = replace(bare, gaps=(Gap(tensor, ELEMENT, 1),))  # type: ignore[type-var]
        own = replace(base.case, problem=problem, fill=fills_of(problem)[0], seconds=VERDICT)
        refusal = kernel.refusal(problem)
        if refusal is not None:
            yield replace(own, refused=refusal.clause, violates=f"gap_{tensor}_{ELEMENT}")
        else:
            yield replace(own, seconds=costs.seconds(kernel, problem) + VERDICT)


def _bases(case: PoolCase) -> Iterator[tuple[Place, _Base]]:
    problem: Any = case.problem
    predicted = case.kernel.prediction(problem)
    if not hasattr(problem, "gap_orders"):
        return
    path, launches = ("", 0) if predicted is None else (predicted.path, min(predicted.launches, 2))
    bare = packed(problem)
    # Both name the tensors in one order; a D in the result's place, the last, lies as the result does.
    for (name, order), tensor in zip(bare.gap_orders.items(), bare.tensors.values(), strict=False):
        length = 0 if ELEMENT in order else _innermost(tensor)
        if length > 1:
            rows = tensor.elements // length
            yield (name, path, launches), _Base((-min(length, LONG), -min(rows, ROWS), case.seconds), case)


def _innermost(tensor: Tensor) -> int:
    """Return the entries of a packed tensor's innermost axis; 1 where an axis of one lies inside of another."""
    lengths = [length for length, stride in zip(tensor.lengths, tensor.strides, strict=True) if stride == 1]
    return min(lengths, default=1)
