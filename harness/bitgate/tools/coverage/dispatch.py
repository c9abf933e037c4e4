"""Dispatch coverage: which path met which classes of the factors, and which thresholds have cases on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitgate.kernel.declaration import KernelFamily
from bitgate.model import Operation, operation_called
from bitgate.model.space.factor import Constants, Factor, classify
from bitgate.model.space.quantity_factors import TILE_CLASSES, tile_factors
from bitgate.tools.coverage.ran import Ran, possible
from bitgate.tools.coverage.threshold import Crossing, crossings
from bitgate.tools.coverage.tiles import tiles_of

COMMON = 0.002
FEWEST = 3
"""A class counts as possible on a path if this share of random problems has it there, and this many of them."""


@dataclass(frozen=True)
class Unmet:
    """A class of a factor that a path could meet and no case brought to it; ``share`` of random problems there."""

    path: str
    factor: str
    cls: str
    words: str
    share: float


@dataclass(frozen=True)
class Ways:
    """What a family's cases of one pass did. ``met``: path -> factor -> class -> cases."""

    family: str
    operation: str
    cases: int
    paths: Mapping[str, int]
    unreached: tuple[str, ...]
    met: Mapping[str, Mapping[str, Mapping[str, int]]]
    unmet: tuple[Unmet, ...]
    main_loops: Mapping[str, int]
    crossings: tuple[Crossing, ...]

    @property
    def one_sided(self) -> tuple[Crossing, ...]:
        return tuple(crossing for crossing in self.crossings if crossing.missing)

    def as_json(self) -> dict[str, Any]:
        return {
            "kernel": self.family,
            "pass": self.operation,
            "cases": self.cases,
            "paths": dict(self.paths),
            "unreached_paths": list(self.unreached),
            "met": {path: {f: dict(c) for f, c in factors.items()} for path, factors in self.met.items()},
            "unmet": [vars(unmet) | {"share": round(unmet.share, 4)} for unmet in self.unmet],
            "main_loops": dict(self.main_loops),
            "thresholds": [
                {
                    "name": crossing.name,
                    "missing": crossing.missing,
                    "below": vars(crossing.below),
                    "beyond": vars(crossing.beyond),
                }
                for crossing in self.crossings
            ],
        }


def ways(ran: Sequence[Ran], families: Mapping[str, KernelFamily]) -> list[Ways]:
    """One for each family and pass that has a case, and for kernels that have none and are no reference."""
    found: list[Ways] = []
    for family in families.values():
        for name in family.operations:
            here = [one for one in ran if one.kernel.family.name == family.name and one.problem.operation.name == name]
            if here or not family.is_reference:
                found.append(_ways(family, operation_called(name), here))
    return found


def _ways(family: KernelFamily, operation: Operation, ran: list[Ran]) -> Ways:
    instances = [i for i in family.instances if operation.name in family.operations_of(i)]
    cut = sorted({name for instance in instances for name in tiles_of(instance, operation)})
    factors = (*operation.space.factors, *tile_factors(dict.fromkeys(cut, 1)))  # of any size: only to be named here
    could = possible(family, operation, instances)
    paths = Counter(one.path for one in ran)
    met: dict[str, dict[str, dict[str, int]]] = {}
    unmet: list[Unmet] = []
    for path in sorted({one.path for one in (*ran, *could)}):
        reached = _shares(operation, cut, [one for one in ran if one.path == path])
        open_ = _shares(operation, cut, [one for one in could if one.path == path])
        met[path] = {
            factor.name: {c.name: int(n) for c, n in zip(factor.classes, counts, strict=True) if n}
            for factor, counts in zip(factors, reached, strict=True)
        }
        total = sum(one.path == path for one in could)
        for factor, counts, chances in zip(factors, reached, open_, strict=True):
            if factor.name == "dtypes":
                continue
            for cls, count, chance in zip(factor.classes, counts, chances, strict=True):
                if count == 0 and chance >= FEWEST and chance / total >= COMMON and paths[path]:
                    unmet.append(Unmet(path, factor.name, cls.name, cls.words, float(chance) / total))
    return Ways(
        family.name,
        operation.name,
        len(ran),
        paths,
        tuple(sorted({one.path for one in could} - set(paths))),
        met,
        tuple(sorted(unmet, key=lambda one: -one.share)),
        Counter(one.main_loop for one in ran if one.main_loop),
        tuple(crossings(operation.space.thresholds, ran, could)),
    )


def _shares(operation: Operation, cut: Sequence[str], ran: Sequence[Ran]) -> list[list[int]]:
    """Cases in each class of each factor: of those of the operation, then of the tiles along the lengths that are cut,
    each case by the tiles of its own instance."""
    counts = _counts(operation, operation.space.factors, ran)
    for length in cut:
        total = np.zeros(TILE_CLASSES, np.int64)
        by_size: dict[int, list[Ran]] = {}
        for one in ran:
            if size := tiles_of(one.kernel.instance, operation).get(length):
                by_size.setdefault(size, []).append(one)
        for size, group in by_size.items():
            total += _counts(operation, tile_factors({length: size}), group)[0]
        counts.append(total.tolist())
    return counts


def _counts(operation: Operation, factors: Sequence[Factor], ran: Sequence[Ran]) -> list[list[int]]:
    if not ran or not factors:
        return [[0] * len(factor.classes) for factor in factors]
    codes = classify(operation.space.batch([one.problem for one in ran]), factors, Constants())
    return [np.bincount(codes[:, i], minlength=len(factor.classes)).tolist() for i, factor in enumerate(factors)]


def in_words(found: Sequence[Ways], top: int) -> str:
    """The report as text, what is missing first."""
    lines: list[str] = []
    for way in found:
        paths = ", ".join(f"{path} {count}" for path, count in way.paths.items()) or "none"
        lines.append(f"{way.family}, {way.operation}: {way.cases} cases; paths: {paths}")
        lines += [f"  NO CASE takes the {path} path" for path in way.unreached]
        lines += [f"  ONE SIDE of {c.name}: no case with {c.missing}" for c in way.one_sided]
        for unmet in way.unmet[:top]:
            lines.append(f"  {unmet.path} path never met {unmet.words} ({unmet.factor}; {100 * unmet.share:.1f} %)")
        if len(way.unmet) > top:
            lines.append(f"  ... and {len(way.unmet) - top} more classes (--top)")
        for crossing in way.crossings:
            lower, upper = crossing.below, crossing.beyond
            if lower.cases and upper.cases:
                apart = f" (nearest {lower.nearest} below, {upper.nearest} beyond)"
                lines.append(f"  {crossing.name}: {lower.cases} {lower.words} | {upper.cases} {upper.words}{apart}")
        if way.main_loops:
            lines.append("  main loops: " + ", ".join(f"{kind} {n}" for kind, n in sorted(way.main_loops.items())))
    return "\n".join(lines)
