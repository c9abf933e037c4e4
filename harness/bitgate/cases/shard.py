"""Shards: a plan's cases on several machines. Which case goes where follows from the plan alone, so that every machine
finds the same parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from bitgate.errors import UsageError

if TYPE_CHECKING:
    from bitgate.cases.plan import PlannedItem

MOST = 1000

ShardText = Annotated[str, msgspec.Meta(pattern=r"^([1-9]\d{0,3}/[1-9]\d{0,3})?\Z")]


@dataclass(frozen=True)
class Shard:
    """The ``index``-th of ``count``, from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def folder(self) -> str:
        return f"s{self.index}of{self.count}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/6``. UsageError for anything else."""
        found = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
        if not found or not int(found[1]) <= int(found[2]) <= MOST:
            raise UsageError(f"shard {text!r:.40}: write I/N with 1 <= I <= N <= {MOST}, as in 2/6")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def of_folder(cls, name: str) -> Shard | None:
        """The shard whose results lie in a folder of this name; None if it is not called like one."""
        found = re.fullmatch(r"s(\d{1,4})of(\d{1,4})", name)
        try:
            return cls.parse(f"{found[1]}/{found[2]}") if found else None
        except UsageError:
            return None


def split(items: Iterable[PlannedItem], count: int) -> tuple[tuple[PlannedItem, ...], ...]:
    """The cases of each shard, in the plan's order. All tests of one problem go together, which then makes its inputs
    and references once; the dearest problem goes first, each to the shard that has least so far.

    UsageError if there are fewer problems than shards: an empty shard compares nothing.
    """
    cases = list(items)
    seconds: dict[str, float] = {}
    for item in cases:
        seconds[item.key.case] = seconds.get(item.key.case, 0.0) + item.seconds
    if len(seconds) < count:
        raise UsageError(f"{count} shards for {len(seconds)} problems: one would compare nothing; ask for fewer")
    loads = [0.0] * count
    place: dict[str, int] = {}
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        # A case of no estimate weighs a little, or all of them would go to one shard.
        least = loads.index(min(loads))
        place[name] = least
        loads[least] += max(seconds[name], 1e-3)
    return _parts(cases, [place[item.key.case] for item in cases], count)


def _parts(cases: Sequence[PlannedItem], places: Sequence[int], count: int) -> tuple[tuple[PlannedItem, ...], ...]:
    parts: list[list[PlannedItem]] = [[] for _ in range(count)]
    for item, place in zip(cases, places, strict=True):
        parts[place].append(item)
    return tuple(map(tuple, parts))
