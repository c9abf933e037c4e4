"""Facts of results files that a merge keeps while it reads their verdicts group by group, and those groups."""

from __future__ import annotations

import heapq
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import repeat
from pathlib import Path

from bitgate.results.plan import PlannedItem
from bitgate.results.record import UNKNOWN, Verdict
from bitgate.results.report.source import Source
from bitgate.results.run_plan import RunPlan
from bitgate.results.shard import Shard

COMMIT = "commit"
"""Name of the kernels' commit in a verdict's fingerprint."""
RUN = ""
"""What has the commit that a verdict's run states, in place of a kernel."""


@dataclass(frozen=True)
class SourceFacts:
    """A results file without its verdicts. ``whole`` and ``tier`` are of the plan next to it, for ``planned``."""

    file: Path
    content: str
    targets: frozenset[str]
    started: str
    flaws: tuple[str, ...] = ()
    shard: Shard | None = None
    planned: str = ""
    whole: str = ""
    tier: str = ""
    commits: frozenset[tuple[str, str]] = frozenset()
    """Kernel and commit of its verdicts, and the commits that their runs state."""

    @classmethod
    def of(cls, source: Source) -> SourceFacts:
        plan = source.plan
        return cls(
            source.file,
            source.content,
            frozenset(source.targets),
            source.started,
            source.flaws,
            source.shard,
            plan.target if plan else "",
            plan.whole if plan else "",
            plan.tier if plan else "",
            frozenset(commit for one in source.verdicts for commit in _commits_of(one)),
        )


def _commits_of(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield verdict.key.kernel, verdict.fingerprint.get(COMMIT, UNKNOWN)
    if verdict.run is not None and verdict.run.commit:
        yield RUN, verdict.run.commit


def marks_of(source: Source) -> array[int]:
    """Return sorted hashes of the keys and tests in a file and the plan next to it."""
    planned: Sequence[PlannedItem] = source.plan.cases if source.plan else ()
    return _sorted_marks((*source.verdicts, *planned))


def marks_of_shard(plan: RunPlan, number: int) -> array[int]:
    """Return sorted hashes of the keys and tests of a planned shard."""
    return _sorted_marks(plan.shards[number].cases)


def _sorted_marks(of: Iterable[Verdict | PlannedItem]) -> array[int]:
    marks = {mark(json.dumps(one.key.values)) for one in of}
    marks |= {mark(f"{one.key.target} {one.test}") for one in of if one.test}
    return array("Q", sorted(marks))


def mark(text: str) -> int:
    """Return a hash of eight bytes."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little")


def groups(marks: Sequence[array[int]]) -> list[list[int]]:
    """Return the numbers of what shares hashes, directly or through others; in the order of the first of each group."""
    parent = list(range(len(marks)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    last: tuple[int, int] | None = None
    numbered: list[Iterator[tuple[int, int]]] = [zip(found, repeat(n), strict=False) for n, found in enumerate(marks)]
    for value, number in heapq.merge(*numbered):
        if last and last[0] == value:
            parent[max(root(number), root(last[1]))] = min(root(number), root(last[1]))
        last = value, number
    found: dict[int, list[int]] = {}
    for number in range(len(marks)):
        found.setdefault(root(number), []).append(number)
    return [found[first] for first in sorted(found)]
