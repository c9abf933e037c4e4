"""Steps and neighbours of one problem of any operation, from its quantities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bitgate.model.problem import ProblemError
from bitgate.model.space.neighbour import Nearby, distance, near_values
from bitgate.model.space.quantity import Choice, Length, choices, lengths, word
from bitgate.model.space.quantity_columns import smaller_steps

if TYPE_CHECKING:
    from bitgate.model.space import ProblemSpace

FAR = {"layout": 2.5, "dtypes": 4.0}
"""How far the values of a choice are apart; of the others 2."""

SPOKEN = {"op": "operation", "dtypes": "types"}
COMMON_DTYPES = ("f32", "f16", "bf16")


def changed(space: ProblemSpace, problem: Any, **values: Any) -> Any | None:
    """The problem with other values; None if there is no such problem."""
    try:
        return space.problem_of({**space.values_of(problem), **values})
    except ProblemError:
        return None


def smaller(space: ProblemSpace, problem: Any) -> Iterator[Any]:
    """Problems one step smaller, in no order."""
    now = space.values_of(problem)
    by_name = {choice.name: choice for choice in choices(space.quantities)}
    codes = {name: by_name[name].code(value) if name in by_name else value for name, value in now.items()}
    for step in smaller_steps(codes, space.quantities):
        values = {name: by_name[name].values[v] if name in by_name else v for name, v in step.items()}
        if (found := changed(space, problem, **values)) is not None:
            yield found


def oddness(space: ProblemSpace, problem: Any) -> tuple[int, int]:
    """How many choices are not plain, types aside; and the sum of the lengths."""
    now = space.values_of(problem)
    special = sum(now[c.name] != c.values[0] for c in choices(space.quantities) if c.name != "dtypes")
    return special, sum(now[length.name] for length in lengths(space.quantities))


def nearby(space: ProblemSpace, problem: Any) -> Iterator[Nearby]:
    """Problems that differ in one quantity."""
    now = space.values_of(problem)
    for quantity in space.quantities:
        old = now[quantity.name]
        for new, far in _others(quantity, old):
            other = changed(space, problem, **{quantity.name: new})
            if other is not None:
                yield Nearby(SPOKEN.get(quantity.name, quantity.name), word(old), word(new), far, other)


def _others(quantity: Length | Choice, old: Any) -> Iterator[tuple[Any, float]]:
    if isinstance(quantity, Length):
        yield from ((new, distance(old, new)) for new in near_values(old, 1))
        return
    for new in quantity.values:
        if new != old and (quantity.name != "dtypes" or str(new) in COMMON_DTYPES):
            yield new, FAR.get(quantity.name, 2.0)
