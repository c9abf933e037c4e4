"""Bugs planted by a seed: a kernel goes wrong where four random conditions on the problem meet, and nowhere else.

That is what the founding bug was. Each condition is written once, as an operator with numbers, and read twice: as C++
in the edited kernel, and over columns of problems, which tells whether any problem has all four.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.model import operation_called
from bitgate.model.space import ProblemSpace
from bitgate.model.space.candidates import Candidates, Ints, Mask
from bitgate.model.space.planting import Plantable
from bitgate.tools.faults.fault import Fault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
    """Where a family's kernel can be made wrong: behind a ``statement`` of a ``function`` (``Plan::Plan``: of a
    constructor) in a ``file``, that makes a variable by which all else goes. ``names`` defines what conditions speak
    of, where the function has other names."""

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
        """The statement as it stands in the source. UsageError if the function has none."""
        text = (root / self.file).read_text()
        begin = text.find(f"{self.function}(" if "::" in self.function else f"void {self.function}(")
        match = re.search(rf"  (const )?{re.escape(self.statement)} =.*?;\n", text[begin:], re.DOTALL)
        if begin < 0 or match is None:
            raise UsageError(f"{self.file}: `{self.function}` makes no `{self.statement}`; nothing can be planted here")
        # A fault's text must stand there once: from the function's name on, if another one has the same statement.
        return match[0] if text.count(match[0]) == 1 else text[begin : begin + match.end()]


@dataclass(frozen=True)
class Effect:
    """What can go wrong, in words and as a statement."""

    words: str
    edit: str


FILE = "planting.toml"
"""Beside a family's declaration, in bitgate's own kernels."""


def sites() -> dict[str, Site]:
    """Those of bitgate's families that say where bugs can be planted. UsageError for a file that does not say it."""
    return {path.parent.name: _site(path) for path in sorted(own_kernels().glob(f"*/{FILE}"))}


def _site(path: Path) -> Site:
    try:
        fields = tomllib.loads(path.read_text())
        effects = tuple(Effect(**effect) for effect in fields.pop("effect"))
        return Site(effects=effects, **fields)
    except (OSError, ValueError, KeyError, TypeError) as error:
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
    """A random bug that at least one problem has. UsageError for a family without a place for it."""
    known = sites()
    if family not in known:
        raise UsageError(f"no bug can be planted in {family}: known are {', '.join(known)}")
    site = known[family]
    quantities = site.space.plantable
    rng = np.random.default_rng([seed, site.space.salt])
    pool = site.space.witnesses(site.space.domains(frozenset(site.space.columns), {}, ()))
    while True:
        chosen = rng.choice(len(quantities), CONDITIONS, replace=False)
        conditions = tuple(
            Condition(quantities[index], str(rng.choice(quantities[index].relations))) for index in sorted(chosen)
        )
        effect = site.effects[int(rng.integers(len(site.effects)))]
        planted = Planted(family, site, effect, conditions)
        if planted.holds(pool).any():
            return planted
