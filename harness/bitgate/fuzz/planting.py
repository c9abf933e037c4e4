"""Bugs planted by a seed: a kernel goes wrong where four random conditions on the problem meet, and nowhere else.

That is what the founding bug was. Each condition is written once, as an operator with numbers, and read twice: as C++
in the edited kernel, and over columns of problems, which tells whether any problem has all four.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitgate.errors import UsageError
from bitgate.faults.fault import Fault
from bitgate.operation import operation_called
from bitgate.operation.space import Space
from bitgate.operation.space.candidates import Candidates, Ints, Mask
from bitgate.operation.space.planting import Plantable

CONDITIONS = 4

_COMPARE: dict[str, Callable[[Ints, int], Mask]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A quantity and a relation: ``% 8 != 0``, ``> 1``."""

    quantity: Plantable
    relation: str

    @property
    def words(self) -> str:
        return f"{self.quantity.name} {self.relation}"

    @property
    def cpp(self) -> str:
        return f"{self.quantity.cpp} {self.relation}"

    def holds(self, batch: Candidates) -> Mask:
        values = self.quantity.of(batch)
        parts = self.relation.split()
        if parts[0] == "%":
            values, parts = values % int(parts[1]), parts[2:]
        return _COMPARE[parts[0]](values, int(parts[1]))


@dataclass(frozen=True)
class Site:
    """Where a family's ``run`` makes its geometry, and what can go wrong with it: words -> statement.

    Conditions speak of ``shape`` and ``problem``; ``names`` defines them where the function has other names for them.
    """

    operation: str
    file: str
    effects: tuple[tuple[str, str], ...]
    function: str = "run"
    names: str = ""

    @property
    def space(self) -> Space:
        return operation_called(self.operation).space

    def statement(self, root: Path) -> str:
        """The statement of the function that makes the geometry. UsageError if the source has none."""
        text = (root / self.file).read_text()
        begin = text.find(f"void {self.function}(")
        match = re.search(r"  (const )?Geometry geometry =.*?;\n", text[begin:], re.DOTALL)
        if begin < 0 or match is None:
            raise UsageError(
                f"{self.file}: `{self.function}` makes no `Geometry geometry`; nothing can be planted here"
            )
        # A fault's text must stand there once: from the function's name on, if another one makes its geometry alike.
        return match[0] if text.count(match[0]) == 1 else text[begin : begin + match.end()]


_COMMON = (
    ("loses the last image", "geometry.images -= 1"),
    ("loses the last tap of the last axis", "geometry.axis[2].filter -= 1"),
    ("pads the last axis by one more", "geometry.axis[2].left_pad += 1"),
)
SITES = {
    "grouped_bwd_data": Site(
        "bwd_data",
        "kernels/grouped_bwd_data/dispatch.hpp",
        (
            *_COMMON,
            ("loses the last vector of K", "geometry.k -= Tiling::Vector::A"),
            ("loses the last window positions of the last axis", "geometry.axis[2].length -= 1"),
        ),
    ),
    "grouped_fwd": Site(
        "fwd",
        "kernels/grouped_fwd/dispatch.hpp",
        (
            *_COMMON,
            ("loses the last vector of C", "geometry.c -= Variant::Vector::A"),
            ("loses the last column of the last axis", "geometry.axis[2].output -= 1"),
        ),
    ),
    "grouped_bwd_weight": Site(
        "bwd_weight",
        "kernels/include/bitgate/implicit_gemm/bwd_weight/dispatch.hpp",
        (
            *_COMMON,
            ("loses the last output of the last axis", "geometry.axis[2].output -= 1"),
        ),
        "run_one_stage",
        "  const ConvShape& shape = job.shape;\n  const ConvProblem& problem = request.problem;\n",
    ),
}


@dataclass(frozen=True)
class Planted:
    """A bug: what happens, and the conditions that must all hold for it."""

    family: str
    effect: str
    statement: str
    conditions: tuple[Condition, ...]

    @property
    def words(self) -> str:
        return f"{self.family} {self.effect} if {' and '.join(c.words for c in self.conditions)}"

    def fault(self, name: str, root: Path) -> Fault:
        """The bug as an edit of the family's source below ``root``."""
        site = SITES[self.family]
        statement = site.statement(root)
        conjunction = " && ".join(condition.cpp for condition in self.conditions)
        return Fault(
            name=name,
            imitates=self.words,
            file=site.file,
            find=statement,
            replace=f"{statement.replace('const Geometry', 'Geometry')}{site.names}  if ({conjunction})\n"
            f"    {self.statement};\n",
            source="a seed",
        )

    def holds(self, batch: Candidates) -> Mask:
        held: Mask = np.logical_and.reduce([condition.holds(batch) for condition in self.conditions])
        return held


def plant(family: str, seed: int) -> Planted:
    """A random bug that at least one problem has. UsageError for a family without a place for it."""
    if family not in SITES:
        raise UsageError(f"no bug can be planted in {family}: known are {', '.join(SITES)}")
    site = SITES[family]
    quantities = site.space.plantable
    rng = np.random.default_rng([seed, site.space.salt])
    pool = site.space.witnesses(site.space.domains(frozenset(site.space.columns), {}, ()))
    while True:
        chosen = rng.choice(len(quantities), CONDITIONS, replace=False)
        conditions = tuple(
            Condition(quantities[index], str(rng.choice(quantities[index].relations))) for index in sorted(chosen)
        )
        effect, statement = site.effects[int(rng.integers(len(site.effects)))]
        planted = Planted(family, effect, statement, conditions)
        if planted.holds(pool).any():
            return planted
