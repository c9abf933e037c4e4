"""Durations of cases: what runs recorded where some did, else a pace fitted to what they recorded.

Seconds are a machine's: they are kept apart by its class (CPU and cores, or GPU), as medians of the last runs, since
one run on a busy machine says little. They order work and fill budgets, and never decide a verdict.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypeVar

import msgspec
from filelock import FileLock

from bitgate.core import emulation, paths
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.targets import is_emulated
from bitgate.core.untrusted import Seconds
from bitgate.kernel.cache.content import sha256
from bitgate.model import Problem
from bitgate.results.plan import PlannedItem
from bitgate.results.record import Verdict
from bitgate.results.shard import ShardTime
from bitgate.runtime.targets import Target

_T = TypeVar("_T")
_ENCODER = msgspec.json.Encoder()

SCHEMA = 2

RUNS = 7
"""Kept of each case: the median of so few outlives a busy night, and forgets an old kernel in a week."""
ENOUGH = 8
"""Cases of a family in a run from which its pace can be fitted."""
LARGE = 10
"""One in this many is large: its time goes into FLOPs. The costs of a launch would spoil the others'."""


@dataclass(frozen=True)
class Pace:
    """Pace of a family's cases: seconds a case whatever its size, and seconds a FLOP."""

    base: float
    per_flop: float

    def seconds(self, flops: int) -> float:
        return self.base + flops * self.per_flop


UNHEARD_OF = Pace(0.01, 2e-9)
"""Before anything is recorded: the host's kernels on a common machine; it only orders work."""
EMULATED = Pace(0.6, 5e-9)
"""On an emulator before anything is recorded, by an ISA emulator that ran capsules on two idle cores: 0.6 s a small
case, and 2,600 s for the 498 GFLOP of gfx942's smoke tier. A run's canary measures the emulator at hand."""
LATE = 0.95
"""The share of runs in which a case was done by its ``late`` seconds."""
LATE_IF_UNKNOWN = 3.0
"""Times the estimate, where no run recorded the case."""


@dataclass(frozen=True)
class Durations:
    """Durations on one class of machines: seconds by ``name``, paces by family.

    ``late`` is the 95th percentile of what the runs took.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    paces: Mapping[str, Pace] = field(default_factory=dict)
    late: Mapping[str, float] = field(default_factory=dict)
    unheard_of: Pace = UNHEARD_OF
    """The pace where nothing was recorded at all."""

    def estimate(self, case: str, family: str, instance: str, fill: str, work: int) -> float:
        recorded = self.seconds.get(name(case, family, instance, fill))
        return self.paces.get(family, self._typical).seconds(work) if recorded is None else recorded

    def length(self, items: Iterable[PlannedItem]) -> ShardTime:
        """Return how long these cases take on one worker: by what was recorded, else by their estimates."""
        seconds = late = longest = 0.0
        for item in items:
            key = item.key
            recorded = self.late.get(name(key.case, key.kernel, key.instance, key.fill))
            seconds += item.seconds
            late += max(item.seconds, LATE_IF_UNKNOWN * item.seconds if recorded is None else recorded)
            longest = max(longest, item.seconds)
        return ShardTime(round(seconds, 3), round(late, 3), round(longest, 3))

    @cached_property
    def _typical(self) -> Pace:
        return _middle(self.paces.values()) if self.paces else self.unheard_of


class Later(Mapping[str, float]):
    """Table that is made on its first use: most runs need none of ten thousand."""

    def __init__(self, make: Callable[[], Mapping[str, float]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, float]:
        return self._make()

    def __getitem__(self, key: str) -> float:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True)
class History:
    """History of the last runs on one class of machines, the newest last."""

    seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    paces: Mapping[str, tuple[Pace, ...]] = field(default_factory=dict)

    @property
    def durations(self) -> Durations:
        seconds = {key: _median(samples) for key, samples in self.seconds.items()}
        late = Later(lambda: {key: percentile(samples, LATE) for key, samples in self.seconds.items()})
        return Durations(seconds, {family: _middle(paces) for family, paces in self.paces.items()}, late)


def work_of(problem: Problem) -> int:
    """Return what the time grows with: FLOPs, or bytes where they are more, as with strides as long as an image."""
    return max(problem.flops, problem.bytes)


def name(case: str, family: str, instance: str, fill: str) -> str:
    return f"{case}__{family}_{instance}__{fill}"


def machine_of(target: Target) -> str:
    """Return the target's class of machines: a GPU's name, or a CPU's, or an emulator's with the number of usable
    cores."""
    has_cores = target.kind in ("cpu", emulation.EMULATED)
    return f"{target.device_name}/{len(os.sched_getaffinity(0))}" if has_cores else target.device_name


def load(target: str, machine: str = "", shelves: Sequence[Path] = ()) -> Durations:
    """Return what was recorded for ``target``: on machines of this class, else on any other.

    This machine's records go before those of the suites in these folders, and the first folder's before the others'.
    """
    measured = emulation.pace() if is_emulated(target) else None
    known = _nothing(target)
    if measured is not None:
        known = replace(known, unheard_of=Pace(measured.base, measured.per_flop))
    files = (*map(_read, _carried_files(target, shelves)), _read(_own_file(target)))
    for histories in files:
        known = _over(known, _merged(_known(histories, but=machine)))
    for histories in files:
        if machine in histories:
            known = _over(known, histories[machine].durations)
    return known


def stated(target: str, folder: Path, shelves: Sequence[Path]) -> Durations:
    """Return this folder's table for a target, of all machines, filled up by what the suites carry.

    It is the same on every machine. UsageError if there is no such folder, or its table is damaged, since it was named
    on purpose.
    """
    path = folder / f"{target}.json"
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of durations; `bitgate ci durations` writes one")
    histories = _read(path)
    if path.is_file() and not histories:
        raise UsageError(f"{path}: no table of durations; write it anew with `bitgate ci durations`")
    return _over(carried(target, shelves), _merged(_known(histories)))


def carried(target: str, shelves: Sequence[Path]) -> Durations:
    """Return what the suites of these folders carry, of all machines: the same on every machine."""
    known = _nothing(target)
    for file in _carried_files(target, shelves):
        known = _over(known, _merged(_known(_read(file))))
    return known


def remember(target: str, machine: str, verdicts: Iterable[Verdict], work: Mapping[str, int]) -> None:
    """Note the seconds of a run in the cache; ``work`` by case, for the paces. Writes all or nothing."""
    note(_own_file(target), machine, verdicts, work)


def note(path: Path, machine: str, verdicts: Iterable[Verdict], work: Mapping[str, int]) -> None:
    """Add a run to the table in this file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_lock_of(path)):
        known = _read(path)
        known[machine] = learn(known.get(machine, History()), verdicts, work)
        write_whole(path, render(known))


def learn(known: History, verdicts: Iterable[Verdict], work: Mapping[str, int]) -> History:
    """Add one run to ``known``. Only what was compared counts: a crashed case's time says nothing."""
    taken: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for verdict in verdicts:
        total, key = verdict.seconds.get("total"), verdict.key
        if total is None or not verdict.compared:
            continue
        taken[name(key.case, key.kernel, key.instance, key.fill)].append(total)
        # A launch costs an emulator most: a pace fitted to small cases would be far off for others.
        if key.case in work and verdict.device_kind != emulation.EMULATED:
            sizes[key.kernel].append((max(1, work[key.case]), total))
    seconds = dict(known.seconds)
    for case, totals in taken.items():
        seconds[case] = (*seconds.get(case, ()), round(median(totals), 5))[-RUNS:]
    paces = dict(known.paces)
    for family, cases in sizes.items():
        if len(cases) >= ENOUGH or family not in paces:
            paces[family] = (*paces.get(family, ()), fitted(cases))[-RUNS:]
    return History(seconds, paces)


def fitted(cases: Iterable[tuple[int, float]]) -> Pace:
    """Fit a pace to (FLOPs, seconds): the large cases give the seconds a FLOP, the rest of the time is the base's.

    Their middle is by FLOPs: of a small one among them the base would be taken for the time of its FLOPs.
    """
    ordered = sorted(cases)
    large = ordered[-max(1, len(ordered) // LARGE) :]
    per_flop = float(f"{_middle_per_flop(large):.3g}")
    base = median(max(0.0, seconds - flops * per_flop) for flops, seconds in ordered)
    return Pace(round(base, 6), per_flop)


def _middle_per_flop(cases: Iterable[tuple[int, float]]) -> float:
    """Return the seconds a FLOP of which the faster and the slower cases have half of the FLOPs each."""
    paces = sorted((seconds / flops, flops) for flops, seconds in cases)
    half, below = sum(flops for _, flops in paces) / 2, 0
    for pace, flops in paces:
        below += flops
        if below >= half:
            return pace
    raise ValueError("no cases")


def render(machines: Mapping[str, History]) -> str:
    """Write one line a case or family, so that a change of the file that the suites carry can be read."""
    parts = []
    for machine, history in sorted(machines.items()):
        paces = {family: [[pace.base, pace.per_flop] for pace in history.paces[family]] for family in history.paces}
        parts.append(f'{_json(machine)}: {{"paces": {_lines(paces)}, "seconds": {_lines(history.seconds)}}}')
    return f'{{"schema": {SCHEMA}, "machines": {{\n' + ",\n".join(parts) + "\n}}\n"


def _lines(table: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{_json(key)}: {_json(table[key])}" for key in sorted(table)) + "\n}"


def _json(value: Any) -> str:
    return _ENCODER.encode(value).decode()


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample that this share of them does not exceed.

    Of seven the 95th percentile is the largest.
    """
    if len(samples) == 1:
        return samples[0]
    ordered = sorted(samples)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _middle(paces: Iterable[Pace]) -> Pace:
    known = list(paces)
    return Pace(median(pace.base for pace in known), median(pace.per_flop for pace in known))


def _merged(machines: Iterable[Durations]) -> Durations:
    """Return the medians over several classes of machines; of what is late, the latest."""
    every = list(machines)
    if len(every) == 1:
        return every[0]
    seconds: dict[str, list[float]] = defaultdict(list)
    paces: dict[str, list[Pace]] = defaultdict(list)
    for durations in every:
        for key, value in durations.seconds.items():
            seconds[key].append(value)
        for family, pace in durations.paces.items():
            paces[family].append(pace)
    middle = {key: _median(values) for key, values in seconds.items()}
    late = Later(lambda: _latest([durations.late for durations in every]))
    return Durations(middle, {family: _middle(values) for family, values in paces.items()}, late)


def _latest(tables: Iterable[Mapping[str, float]]) -> dict[str, float]:
    late: dict[str, float] = {}
    for table in tables:
        for key, value in table.items():
            late[key] = max(value, late.get(key, 0.0))
    return late


def _median(values: Sequence[float]) -> float:
    return median(values) if len(values) > 1 else values[0]  # most are of one run, and there are ten thousands


def _known(histories: Mapping[str, History], but: str | None = None) -> Iterator[Durations]:
    return (history.durations for machine, history in histories.items() if machine != but)


def _over(below: Durations, above: Durations) -> Durations:
    late = Later(lambda: {**below.late, **above.late})
    return Durations({**below.seconds, **above.seconds}, {**below.paces, **above.paces}, late, below.unheard_of)


def _nothing(target: str) -> Durations:
    """Return durations of a target of which nothing was recorded."""
    return Durations(unheard_of=EMULATED if is_emulated(target) else UNHEARD_OF)


def _carried_files(target: str, shelves: Sequence[Path]) -> list[Path]:
    """List the files that suites carry. The last goes before the others."""
    return [folder / "durations" / f"{target}.json" for folder in reversed(shelves)]


def _own_file(target: str) -> Path:
    return paths.cache_dir() / "durations" / f"{target}.json"


def _lock_of(path: Path) -> Path:
    """Return a lock in the cache: a folder of tables is committed, and a lock next to them would be too."""
    folder = paths.cache_dir() / "durations"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{path.stem}.{sha256(str(path.resolve()))[:8]}.lock"


_Samples = Annotated[tuple[_T, ...], msgspec.Meta(min_length=1)]


class _Machine(msgspec.Struct):
    seconds: dict[str, _Samples[Seconds]]
    paces: dict[str, _Samples[tuple[Seconds, Seconds]]]


class _Schema(msgspec.Struct):
    schema: int = 1


class _Table(msgspec.Struct):
    machines: dict[str, _Machine]
    schema: int = 1


def _read(path: Path) -> dict[str, History]:
    """Read histories by class of machines.

    A file of an earlier version, whose seconds held builds, yields nothing. A damaged one is reported and ignored:
    durations order work and decide nothing.
    """
    try:
        table = _table(path.read_bytes())
        return {name: _history(one) for name, one in table.machines.items()} if table else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        print(f"{path}: ignored, no table of durations ({error}); it is written anew", file=sys.stderr, flush=True)
        return {}


def _table(data: bytes) -> _Table | None:
    """Parse a table; None if it is of another schema. ValueError for what is no table."""
    try:
        table = msgspec.json.decode(data, type=_Table)
    except msgspec.ValidationError:
        if msgspec.json.decode(data, type=_Schema).schema == SCHEMA:
            raise
        return None
    return table if table.schema == SCHEMA else None


def _history(machine: _Machine) -> History:
    paces = {family: tuple(Pace(*pace) for pace in some) for family, some in machine.paces.items()}
    return History(machine.seconds, paces)
