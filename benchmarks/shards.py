"""How even are shards? ``python benchmarks/shards.py RECORD... [--on RECORD] [--cases 1000] [--shards 2 4 8] [--json]``

Plans by the seconds that runs recorded (medians over the given ``results.jsonl``), and says how much longer the longest
shard is than the mean one, by those seconds and by those of a run that the plan did not know (``--on``): of bitgate's
plan, of pytest-split's ``least_duration`` (pip install pytest-split) and of a round-robin over the same cases. ``cut``:
problems whose tests are in several shards, each of which then makes the same inputs and references. ``--cases``: whole
problems, drawn by a seed, until there is that number of cases; 0: all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace

from bitgate.core.errors import UsageError
from bitgate.results.plan import PlannedItem
from bitgate.results.record import Key, RecordError, read
from bitgate.results.shard import split

Parts = Sequence[Sequence[PlannedItem]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+", help="what the plan knows")
    parser.add_argument("--on", type=Path, help="a run that it does not know")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        known = [_seconds(record) for record in arguments.records]
        unknown = _seconds(arguments.on) if arguments.on else None
    except RecordError as error:
        parser.error(str(error))
    common = set.intersection(*map(set, known if unknown is None else [*known, unknown]))
    items = _drawn([_item(key, known) for key in common], arguments.cases, arguments.seed)
    rows = []
    for count in arguments.shards:
        try:
            rows += [_row(name, how(items, count), unknown) for name, how in METHODS.items()]
        except UsageError as error:
            parser.error(str(error))
    if arguments.json:
        print(json.dumps({"cases": len(items), "rows": rows}))
        return 0
    whole = sum(item.seconds for item in items)
    longest = max(item.seconds for item in items)
    problems = len({item.key.case for item in items})
    print(f"{len(items)} cases of {problems} problems: {whole:.1f} s, longest {longest:.2f} s")
    print(f"{'shards':>6}  {'method':<14}  {'longest / mean':>14}  {'on another run':>14}  {'cut':>4}")
    for row in rows:
        other = f"{row['on_another_run']:.3f}" if row["on_another_run"] else "-"
        print(
            f"{row['shards']:>6}  {row['method']:<14}  {row['longest_over_mean']:>14.3f}  {other:>14}  {row['cut']:>4}"
        )
    return 0


def _seconds(record: Path) -> dict[Key, float]:
    """Of what was compared."""
    return {verdict.key: verdict.seconds["total"] for verdict in read(record) if verdict.compared}


def _item(key: Key, known: Sequence[Mapping[Key, float]]) -> PlannedItem:
    name = "__".join([key.case, key.kernel, key.instance, key.fill, key.schedule, str(key.seed), str(key.options)])
    return PlannedItem(name, key, seconds=round(median(run[key] for run in known), 5))


def _drawn(items: Sequence[PlannedItem], count: int, seed: int) -> list[PlannedItem]:
    """In the order of the ids, as pytest-split wants it."""
    problems = sorted({item.key.case for item in items})
    random.Random(seed).shuffle(problems)
    rank = {case: place for place, case in enumerate(problems)}
    chosen = sorted(items, key=lambda item: (rank[item.key.case], item.id))[: count or None]
    return sorted(chosen, key=lambda item: item.id)


def _bitgate(items: Sequence[PlannedItem], count: int) -> Parts:
    return split(items, count)


def _pytest_split(items: Sequence[PlannedItem], count: int) -> Parts:
    try:
        from pytest_split.algorithms import LeastDurationAlgorithm
    except ImportError:
        sys.exit("pytest-split is not here: pip install pytest-split")
    tests = [SimpleNamespace(nodeid=item.id, item=item) for item in items]
    groups = LeastDurationAlgorithm()(count, tests, {item.id: item.seconds for item in items})
    return [[test.item for test in group.selected] for group in groups]


def _round_robin(items: Sequence[PlannedItem], count: int) -> Parts:
    return [items[first::count] for first in range(count)]


METHODS: dict[str, Callable[[Sequence[PlannedItem], int], Parts]] = {
    "bitgate": _bitgate,
    "least_duration": _pytest_split,
    "round-robin": _round_robin,
}


def _row(method: str, parts: Parts, unknown: Mapping[Key, float] | None) -> dict[str, object]:
    places: dict[str, set[int]] = {}
    for place, part in enumerate(parts):
        for item in part:
            places.setdefault(item.key.case, set()).add(place)
    return {
        "shards": len(parts),
        "method": method,
        "longest_over_mean": _unevenness(parts, lambda item: item.seconds),
        "on_another_run": _unevenness(parts, lambda item: unknown[item.key]) if unknown else None,
        "cut": sum(len(shards) > 1 for shards in places.values()),
    }


def _unevenness(parts: Parts, seconds: Callable[[PlannedItem], float]) -> float:
    lengths = [sum(map(seconds, part)) for part in parts]
    return round(max(lengths) / mean(lengths), 4)


if __name__ == "__main__":
    sys.exit(main())
