"""Shards of a plan for several machines, and how long each takes.

The shard of a case follows from the plan alone, so that every machine finds the same shards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from math import ceil
from typing import TYPE_CHECKING, Annotated

import msgspec

from bitgate.core.errors import UsageError

if TYPE_CHECKING:
    from bitgate.results.plan import PlannedItem


MOST = 1000

GRAIN = 10
"""A problem that takes more than one part in this many of a shard is cut."""
LEAST_WEIGHT = 1000
"""Microseconds that a case takes which only has to be refused."""
PROBES = "probe_"
"""Prefix of the cases of the operation ``probe``, which stay together: none is meaningful once another is red."""

ShardText = Annotated[str, msgspec.Meta(pattern=r"^([1-9]\d{0,3}/[1-9]\d{0,3})?\Z")]


@dataclass(frozen=True)
class Shard:
    """One shard of a plan: number ``index`` of ``count``, from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def folder(self) -> str:
        return f"s{self.index}of{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read a shard written as ``2/6``. UsageError for anything else."""
        found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
        if not found or not int(found[1]) <= int(found[2]) <= MOST:
            raise UsageError(f"shard {text!r:.40}: write I/N with 1 <= I <= N <= {MOST}, as in 2/6")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_folder(cls, name: str) -> Shard | None:
        """Return the shard whose results are in a folder of this name; None if the name is no shard's."""
        found = re.fullmatch(r"s(\d{1,4})of(\d{1,4})", name)
        try:
            return cls.parse(f"{found[1]}/{found[2]}") if found else None
        except UsageError:
            return None


def split(items: Iterable[PlannedItem], count: int) -> tuple[tuple[PlannedItem, ...], ...]:
    """Return the cases of each shard, in the order of the plan.

    Problems are assigned longest first, each to the shard with the least time so far. All tests of one problem stay
    together, so that its inputs and references are made once. A problem that takes more than a ``GRAIN``-th of a shard
    is cut into pieces. Thus no shard takes longer than the mean and a ``GRAIN``-th of it, or the mean and the longest
    case. UsageError if there are fewer pieces than shards: an empty shard compares nothing.
    """
    cases = list(items)
    pieces = _pieces(cases, count)
    if len(pieces) < count:
        raise UsageError(f"{count} shards for {len(pieces)} problems: one would compare nothing; ask for fewer")
    loads = [(0, index) for index in range(count)]
    place: dict[str, int] = {}
    for piece in sorted(pieces, key=lambda piece: (-piece.weight, piece.ids)):
        load, least = loads[0]
        heapreplace(loads, (load + piece.weight, least))
        place |= dict.fromkeys(piece.ids, least)
    return _parts(cases, [place[item.id] for item in cases], count)


def count_for(items: Sequence[PlannedItem], shard_seconds: float, setup_seconds: float) -> int:
    """Return the number of shards with which each takes ``shard_seconds`` on one worker.

    Each shard spends ``setup_seconds`` before its first case. UsageError if that leaves no time for cases, or takes too
    many shards.
    """
    if shard_seconds <= setup_seconds:
        raise UsageError(
            f"--shard-seconds {shard_seconds:g}: the set-up of a shard alone takes {setup_seconds:g} s; ask for more"
        )
    count = max(1, ceil(sum(map(_weight, items)) / 1e6 / (shard_seconds - setup_seconds)))
    if count > MOST:
        raise UsageError(f"--shard-seconds {shard_seconds:g}: {count} shards, more than {MOST}; ask for longer ones")
    return fitting(items, count)


def fitting(items: Sequence[PlannedItem], count: int) -> int:
    """Return the largest number of shards up to ``count`` of which none is empty."""
    while count > 1 and (pieces := len(_pieces(items, count))) < count:
        count = max(1, pieces)
    return count


@dataclass(frozen=True)
class _Piece:
    """Cases that stay in one shard: all or some of one problem.

    ``weight`` is in whole microseconds, whose sum is the same in any order.
    """

    weight: int
    ids: tuple[str, ...]


def _weight(item: PlannedItem) -> int:
    """Return the weight of a case; one without an estimate weighs a little, or all of them would go to one shard."""
    return max(round(item.seconds * 1e6), LEAST_WEIGHT)


def _pieces(cases: Sequence[PlannedItem], count: int) -> list[_Piece]:
    problems: dict[str, list[PlannedItem]] = {}
    for item in cases:
        problems.setdefault(item.key.case, []).append(item)
    most = sum(map(_weight, cases)) / count / GRAIN
    return [piece for problem in problems.values() for piece in _cut(problem, most)]


def _cut(problem: Iterable[PlannedItem], most: float) -> Iterator[_Piece]:
    """Yield pieces of at most this weight, or of a single case, or of probes; cases of one fill, which share data, stay
    together where they can."""
    weight, ids = 0, list[str]()
    for item in sorted(problem, key=lambda item: (item.key.fill, item.id)):
        own = _weight(item)
        if ids and weight + own > most and not item.key.case.startswith(PROBES):
            yield _Piece(weight, tuple(ids))
            weight, ids = 0, []
        weight += own
        ids.append(item.id)
    yield _Piece(weight, tuple(ids))


def _parts(cases: Sequence[PlannedItem], places: Sequence[int], count: int) -> tuple[tuple[PlannedItem, ...], ...]:
    parts: list[list[PlannedItem]] = [[] for _ in range(count)]
    for item, place in zip(cases, places, strict=True):
        parts[place].append(item)
    return tuple(map(tuple, parts))


SETUP_SECONDS = 10.0
"""Time before a shard's first case: Python and pytest start, suites are collected, libraries are looked up."""

PATIENCE_SECONDS = 300.0
PATIENCE = 20
"""Multiple of the estimate after which a case counts as hung."""

MARGIN = 2.0
"""Factor for machines without a record, which may be half as fast as the slowest known one."""


@dataclass(frozen=True)
class ShardTime:
    """The time of a shard on one worker, without its set-up: ``seconds`` as a rule, ``longest`` of its longest case.

    ``late`` is the sum of its cases' 95th percentiles: at most one run in twenty takes longer, even if what slows one
    case slows all.
    """

    seconds: float
    late: float
    longest: float = 0.0


def patience(seconds: float) -> float:
    """Return the seconds after which a case of this estimate counts as hung: far more than it takes on a busy host."""
    return max(PATIENCE_SECONDS, PATIENCE * seconds)


def limit_minutes(length: ShardTime, setup_seconds: float = SETUP_SECONDS) -> int:
    """Return the whole minutes after which a shard is ended.

    They are far more than a slow run takes, and leave time to report one case that hangs.
    """
    return ceil((setup_seconds + MARGIN * length.late + patience(length.longest)) / 60)
