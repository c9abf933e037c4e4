"""Dispatch coverage: the classes of factors that each path met, and thresholds with cases on only one side."""

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
from bitgate.model.space.threshold import Threshold
from bitgate.tools.coverage.ran import RanCase, possible
from bitgate.tools.coverage.tiles import tiles_of


@dataclass(frozen=True)
class ThresholdSide:
    """The cases on one side of a threshold.

    ``nearest`` is the distance of the closest one from the edge: at best 0 below it, 1 beyond.
    """

    words: str
    cases: int
    nearest: int | None
    is_possible: bool


@dataclass(frozen=True)
class Crossing:
    """A threshold with its two sides."""

    name: str
    below: ThresholdSide
    beyond: ThresholdSide

    @property
    def missing(self) -> str:
        """The side that could have a case and has none, in words; empty too where only one side is possible for this
        kernel."""
        if not (self.below.is_possible and self.beyond.is_possible):
            return ""
        return next((side.words for side in (self.below, self.beyond) if not side.cases), "")


def crossings(thresholds: Sequence[Threshold], ran: Sequence[RanCase], possible: Sequence[RanCase]) -> list[Crossing]:
    """Return every threshold that applies to these cases, of one family.

    ``possible`` shows which sides exist. An option that moves a threshold makes its far side possible too, which
    otherwise would need gigabytes.
    """
    found = []
    for threshold in thresholds:
        met, could = _values(threshold, ran), _values(threshold, possible)
        if not met and not could:
            continue
        sides = []
        for is_beyond, words in ((False, threshold.below), (True, threshold.beyond)):
            here = [abs(v - threshold.edge) for v in met if (v > threshold.edge) is is_beyond]
            possibly = any((v > threshold.edge) is is_beyond for v in could)
            forced = is_beyond and any(one.kernel.family.option(threshold.option) for one in (*ran[:1], *possible[:1]))
            sides.append(ThresholdSide(words, len(here), min(here, default=None), possibly or bool(here) or forced))
        found.append(Crossing(threshold.name, *sides))
    return found


def _values(threshold: Threshold, ran: Sequence[RanCase]) -> list[int]:
    values = (threshold.quantity(one) for one in ran)
    return [value for value in values if value is not None]


COMMON = 0.002
FEWEST = 3
"""A class counts as possible on a path if this share of random problems has it there, and this many of them."""


@dataclass(frozen=True)
class UnmetClass:
    """A class of a factor that a path could meet but no case did; ``share`` is that of random problems on the path."""

    path: str
    factor: str
    cls: str
    words: str
    share: float


@dataclass(frozen=True)
class DispatchCoverage:
    """The paths taken by a family's cases of one pass. ``met``: path -> factor -> class -> cases."""

    family: str
    operation: str
    cases: int
    paths: Mapping[str, int]
    unreached: tuple[str, ...]
    met: Mapping[str, Mapping[str, Mapping[str, int]]]
    unmet: tuple[UnmetClass, ...]
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


def dispatch_coverage(ran: Sequence[RanCase], families: Mapping[str, KernelFamily]) -> list[DispatchCoverage]:
    """Return the coverage of each family and pass that has a case, and of kernels without cases that are not
    references."""
    found: list[DispatchCoverage] = []
    for family in families.values():
        for name in family.operations:
            here = [one for one in ran if one.kernel.family.name == family.name and one.problem.operation.name == name]
            if here or not family.is_reference:
                found.append(_ways(family, operation_called(name), here))
    return found


def _ways(family: KernelFamily, operation: Operation, ran: list[RanCase]) -> DispatchCoverage:
    instances = [i for i in family.instances if operation.name in family.operations_of(i)]
    cut = sorted({name for instance in instances for name in tiles_of(instance, operation)})
    # Tiles may have any size here: only the names of their factors are used.
    factors = (*operation.space.factors, *tile_factors(dict.fromkeys(cut, 1)))
    could = possible(family, operation, instances)
    paths = Counter(one.path for one in ran)
    met: dict[str, dict[str, dict[str, int]]] = {}
    unmet: list[UnmetClass] = []
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
                    unmet.append(UnmetClass(path, factor.name, cls.name, cls.words, float(chance) / total))
    return DispatchCoverage(
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


def _shares(operation: Operation, cut: Sequence[str], ran: Sequence[RanCase]) -> list[list[int]]:
    """Count the cases in each class of each factor.

    The factors of the operation come first, then those of the tiles along the lengths that are cut. Each case counts by
    the tiles of its instance.
    """
    counts = _counts(operation, operation.space.factors, ran)
    for length in cut:
        total = np.zeros(TILE_CLASSES, np.int64)
        by_size: dict[int, list[RanCase]] = {}
        for one in ran:
            if size := tiles_of(one.kernel.instance, operation).get(length):
                by_size.setdefault(size, []).append(one)
        for size, group in by_size.items():
            total += _counts(operation, tile_factors({length: size}), group)[0]
        counts.append(total.tolist())
    return counts


def _counts(operation: Operation, factors: Sequence[Factor], ran: Sequence[RanCase]) -> list[list[int]]:
    if not ran or not factors:
        return [[0] * len(factor.classes) for factor in factors]
    codes = classify(operation.space.batch([one.problem for one in ran]), factors, Constants())
    return [np.bincount(codes[:, i], minlength=len(factor.classes)).tolist() for i, factor in enumerate(factors)]


def format_report(found: Sequence[DispatchCoverage], top: int) -> str:
    """Format the report as text, with what is missing first."""
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
