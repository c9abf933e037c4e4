"""Facts of a case, by which conditions are stated: its classes by factor, and the numbers of its problem by name."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bitgate.model.space.factor import Class, Constants, Factor
from bitgate.model.space.problem_property import PropertyKind

if TYPE_CHECKING:
    from bitgate.model.space import ProblemSpace

Fact = int | str
Facts = Mapping[str, Fact]

OF_OPERATION = ":"
"""The end of the names of the operation's factors: other classes of a case may have the same names."""

RELATIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": operator.eq,
    "is not": operator.ne,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
"""The relations of a clause: ``is`` and ``is not`` of classes, the others of numbers."""

OTHER_CONSTANTS = Constants(vector=2, tile=(16, 48, 80), split_n_bytes=2**20)
"""Constants that differ from the usual ones in all: a class that stays the same depends on none."""

OTHER = Class("other", "other")
"""The class of what is in none of a factor's."""


@dataclass(frozen=True)
class Clause:
    """A part of a condition: a fact's relation to a value, or that of its rest modulo ``modulus``."""

    name: str
    relation: str
    value: Fact
    modulus: int = 0

    def holds(self, facts: Facts) -> bool:
        """Return whether a case meets it; never where the fact is unknown, or of the other kind."""
        found = facts.get(self.name)
        if found is None or isinstance(found, str) != isinstance(self.value, str):
            return False
        rest = found % self.modulus if self.modulus and isinstance(found, int) else found
        return RELATIONS[self.relation](rest, self.value)

    def __str__(self) -> str:
        rest = f" % {self.modulus}" if self.modulus else ""
        return f"{self.name.removesuffix(OF_OPERATION)}{rest} {self.relation} {self.value}"


def numbers_of(space: ProblemSpace, problem: Any) -> dict[str, int]:
    """Return a problem's numbers by name; axes count from the last one: ``stride[-1]``."""
    found: dict[str, int] = {}
    for name, known in space.properties.items():
        if known.kind is PropertyKind.NUMBER:
            found[name] = int(known.of(problem))
        elif known.kind is PropertyKind.LENGTHS:
            lengths = str(known.of(problem)).split("x")
            found |= {f"{name}[{axis - len(lengths)}]": int(length) for axis, length in enumerate(lengths)}
    return found


def names_of(space: ProblemSpace, problem: Any) -> dict[str, str]:
    """Return a problem's properties that are words, by name; a flag is ``yes`` or ``no``."""
    found: dict[str, str] = {}
    for name, known in space.properties.items():
        if known.kind is PropertyKind.FLAG:
            found[name] = "yes" if known.of(problem) else "no"
        elif known.kind in (PropertyKind.NAME, PropertyKind.DTYPES):
            found[name] = str(known.of(problem))
    return found


def worded_classes(space: ProblemSpace, problems: Sequence[Any]) -> list[dict[str, str]]:
    """Return the words of each problem's classes, by factor, and of the unions of classes that it is in.

    A factor is left out if it depends on a vector or a tile, which are the instance's.
    """
    batch = space.batch(problems)
    found: list[dict[str, str]] = [{} for _ in problems]
    for factor in space.factors:
        classes = _classes(factor, batch, Constants())
        if classes != _classes(factor, batch, OTHER_CONSTANTS):
            continue
        for facts, cls in zip(found, classes, strict=True):
            facts[f"{factor.name}{OF_OPERATION}"] = cls.words
            unions = (union for union, members in factor.wide if cls.name in members)
            facts.update((f"{factor.name} {union.name}{OF_OPERATION}", union.words) for union in unions)
    return found


def _classes(factor: Factor, batch: Any, constants: Constants) -> list[Class]:
    known = factor.classes
    return [known[code] if code < len(known) else OTHER for code in factor.classify(batch, constants)]
