"""Plant bugs by a seed: a kernel goes wrong where four random conditions on the problem meet, and nowhere else.

The founding bug was one. Each condition is written once, as an operator with numbers, and read twice: as C++ in the
edited kernel, and over columns of problems, which shows whether any problem has all four.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.toml import read_toml
from bitgate.model import operation_called
from bitgate.model.space import ProblemSpace
from bitgate.model.space.candidates import Candidates, Ints, Mask
from bitgate.tools.faults.fault import Fault

CONDITIONS = 4

_COMPARE: dict[str, Callable[[Ints, int], Mask]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Plantable:
    """A number of a convolution that a planted bug may depend on.

    ``cpp`` is its name in the ``run`` of a family, ``of`` its column of a batch of problems, ``relations`` what a
    condition may say of it, such as ``% 8 != 0``.
    """

    name: str
    cpp: str
    of: Callable[[Any], Ints]
    relations: tuple[str, ...]


_LENGTHS = ("== 1", "> 1", "> 2", "% 2 != 0")
_CHANNELS = ("== 1", "> 1", "< 8", "> 8", "% 8 != 0", "% 8 == 0", "% 2 != 0", "> 32")


def _axis(name: str, field: str, axis: int, relations: tuple[str, ...]) -> Plantable:
    return Plantable(name, f"shape.{field}[{axis}]", lambda batch: getattr(batch, field)[:, axis], relations)


PLANTABLE: tuple[Plantable, ...] = (
    Plantable("ndim", "problem.ndim", lambda b: b.ndim, ("== 1", "== 2", "== 3", "> 1", "< 3")),
    Plantable("G", "shape.groups", lambda b: b.g, ("== 1", "> 1", "== 2", "> 2")),
    Plantable("N", "shape.images", lambda b: b.n, ("== 1", "> 1", "> 2", "% 2 != 0", "> 3")),
    Plantable("K", "shape.k", lambda b: b.k, _CHANNELS),
    Plantable("C", "shape.c", lambda b: b.c, _CHANNELS),
    _axis("Fy", "filter", 1, ("== 1", "> 1", "== 3", "% 2 == 0")),
    _axis("Fx", "filter", 2, ("== 1", "> 1", "== 3", "% 2 == 0")),
    _axis("Sy", "stride", 1, ("== 1", "> 1", "== 2", "> 2")),
    _axis("Sx", "stride", 2, ("== 1", "> 1", "== 2", "> 2")),
    _axis("Dy", "dilation", 1, ("== 1", "> 1", "== 2")),
    _axis("Dx", "dilation", 2, ("== 1", "> 1", "== 2")),
    _axis("Py", "left_pad", 1, ("== 0", "> 0", "> 1")),
    _axis("Px", "left_pad", 2, ("== 0", "> 0", "> 1")),
    Plantable("Qx", "problem.right_pad[problem.ndim - 1]", lambda b: b.right_pad[:, 2], ("== 0", "> 0", "> 1")),
    _axis("Iy", "input", 1, _LENGTHS),
    _axis("Ix", "input", 2, _LENGTHS),
    _axis("Oy", "output", 1, _LENGTHS),
    _axis("Ox", "output", 2, _LENGTHS),
    Plantable("NumD", "problem.num_d", lambda b: b.num_d, ("== 0", "> 0")),
)


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
    """The place where a family's kernel can be made wrong.

    It is after the ``statement`` of a ``function`` (``Plan::Plan``: a constructor) in a ``file`` that makes a variable
    on which all else depends. ``names`` defines the names in conditions, where the function has others.
    """

    operation: str
    file: str
    function: str
    statement: str
    effects: tuple[Effect, ...]
    names: str = ""

    @property
    def space(self) -> ProblemSpace:
        return operation_called(self.operation).space

    def made_by(self, root: Path) -> str:
        """Return the statement as the source has it. Raises UsageError if the function has none."""
        text = (root / self.file).read_text()
        begin = text.find(f"{self.function}(" if "::" in self.function else f"void {self.function}(")
        match = re.search(rf"  (const )?{re.escape(self.statement)} =.*?;\n", text[begin:], re.DOTALL)
        if begin < 0 or match is None:
            raise UsageError(f"{self.file}: `{self.function}` makes no `{self.statement}`; nothing can be planted here")
        # A fault's text must occur once: from the function's name on, if another one has the same statement.
        return match[0] if text.count(match[0]) == 1 else text[begin : begin + match.end()]


@dataclass(frozen=True)
class Effect:
    """What can go wrong, in words and as a statement."""

    words: str
    edit: str


SITES = Path(__file__).parent / "planting_sites"
"""A file for each family."""


def sites() -> dict[str, Site]:
    """Return the sites by family. Raises UsageError for a file that states none."""
    return {path.stem: _site(path) for path in sorted(SITES.glob("*.toml"))}


def _site(path: Path) -> Site:
    fields, _ = read_toml(path)
    try:
        effects = tuple(Effect(**effect) for effect in fields.pop("effect"))
        return Site(effects=effects, **fields)
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path}: no place for a bug: {type(error).__name__}: {error}") from None


@dataclass(frozen=True)
class Planted:
    """A bug: what happens, and the conditions that must all hold for it."""

    family: str
    site: Site
    effect: Effect
    conditions: tuple[Condition, ...]

    @property
    def words(self) -> str:
        return f"{self.family} {self.effect.words} if {' and '.join(c.words for c in self.conditions)}"

    def fault(self, name: str, root: Path) -> Fault:
        """The bug as an edit of the family's source below ``root``."""
        statement = self.site.made_by(root)
        conjunction = " && ".join(condition.cpp for condition in self.conditions)
        changeable = statement.replace(f"const {self.site.statement}", self.site.statement)
        return Fault(
            name=name,
            imitates=self.words,
            file=self.site.file,
            find=statement,
            replace=f"{changeable}{self.site.names}  if ({conjunction})\n    {self.effect.edit};\n",
            source="a seed",
        )

    def holds(self, batch: Candidates) -> Mask:
        held: Mask = np.logical_and.reduce([condition.holds(batch) for condition in self.conditions])
        return held


def plant(family: str, seed: int) -> Planted:
    """Return a random bug that at least one problem has. Raises UsageError for a family without a site."""
    known = sites()
    if family not in known:
        raise UsageError(f"no bug can be planted in {family}: known are {', '.join(known)}")
    site = known[family]
    rng = np.random.default_rng([seed, site.space.salt])
    pool = site.space.witnesses(site.space.domains(frozenset(site.space.columns), {}, ()))
    while True:
        chosen = rng.choice(len(PLANTABLE), CONDITIONS, replace=False)
        conditions = tuple(
            Condition(PLANTABLE[index], str(rng.choice(PLANTABLE[index].relations))) for index in sorted(chosen)
        )
        effect = site.effects[int(rng.integers(len(site.effects)))]
        planted = Planted(family, site, effect, conditions)
        if planted.holds(pool).any():
            return planted
