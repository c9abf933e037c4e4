"""The job matrix of a tier: one cell a target, with the reason why it runs or does not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.core.choices import ENGINES, FORGES
from bitgate.core.emulation import DAEMON, LAUNCHER
from bitgate.core.errors import UsageError
from bitgate.core.targets import canonical
from bitgate.core.untrusted import InvalidInput, Name, Short, Text, parse_json, read_bytes, shaped
from bitgate.results.plan import PlanError
from bitgate.results.report.findings import MissingTarget
from bitgate.results.run_plan import RunPlan
from bitgate.results.shard import MOST, Shard
from bitgate.results.targets_file import GATES, CiTarget, CiTargets, Pool

SCHEMA = 1
BACKENDS = FORGES + ENGINES


class SkipReason(Enum):
    """The reason why a cell does not run."""

    GATE = "gate"
    """It is not promised in this tier: nothing is missing."""
    DRAINED = "drained"
    NO_POOL = "no pool"
    ELSEWHERE = "elsewhere"
    """Only pools of other backends than the requested ones are up."""
    EMULATED = "emulated"
    """No machine with the GPU is up, and the promise may be kept by an emulator, which is a separate cell."""


@dataclass(frozen=True)
class Cell:
    """One target in one tier. ``pool`` is set if the cell runs, ``why`` if it does not; ``reason`` explains either."""

    promise: CiTarget
    tier: str
    reason: str
    pool: Pool | None = None
    why: SkipReason | None = None

    @property
    def runs(self) -> bool:
        return self.pool is not None

    @property
    def target(self) -> str:
        return self.promise.name

    @property
    def minutes(self) -> int:
        return self.promise.minutes[self.tier]


def cells(config: CiTargets, tier: str, backends: Collection[str] = BACKENDS) -> tuple[Cell, ...]:
    """Return a cell for every target of the file, in its order; pools of other backends run nothing.

    A target that may be emulated has a further cell, under the emulated target's name.
    """
    return tuple(cell for target in config.targets for cell in _cells(config, target, tier, backends))


def _cells(config: CiTargets, target: CiTarget, tier: str, backends: Collection[str]) -> tuple[Cell, ...]:
    cell = _cell(config, target, tier, backends)
    if not target.emulated:
        return (cell,)
    emulated = _cell(config, target.on_emulator, tier, backends)
    if emulated.pool and cell.why in (SkipReason.DRAINED, SkipReason.NO_POOL, SkipReason.ELSEWHERE):
        reason = f"{cell.reason}; kept by an emulator alone, pool {emulated.pool.name}"
        cell = replace(cell, reason=reason, why=SkipReason.EMULATED)
    return cell, emulated


def _cell(config: CiTargets, target: CiTarget, tier: str, backends: Collection[str]) -> Cell:
    """Return the cell of a target: it runs on the first pool of the file that serves it and is up."""
    if tier not in GATES[target.gate]:
        return Cell(target, tier, f"gate {target.gate} runs {', '.join(GATES[target.gate])} only", why=SkipReason.GATE)
    pools = config.pools_of(target.name)
    eligible = [pool for pool in pools if pool.backend in backends]
    drained = [f"pool {pool.name} {pool.state}" for pool in eligible if not pool.up]
    if up := next((pool for pool in eligible if pool.up), None):
        return Cell(target, tier, "; ".join([f"gate {target.gate}, pool {up.name}", *drained]), up)
    if elsewhere := [f"pool {pool.name} is of {pool.backend}" for pool in pools if pool.up]:
        return Cell(target, tier, "; ".join([*drained, *elsewhere]), why=SkipReason.ELSEWHERE)
    if drained or pools:
        states = drained or [f"pool {pool.name} {pool.state}" for pool in pools]
        return Cell(target, tier, "; ".join(states), why=SkipReason.DRAINED)
    return Cell(target, tier, "no pool serves it", why=SkipReason.NO_POOL)


@dataclass(frozen=True)
class Job:
    """A shard of a cell that runs, in plain values, from which a workflow's job is made.

    ``part`` is the name of the shard's folder, ``env`` that of tox's environment.
    """

    target: str
    tier: str
    env: str
    shard: str
    part: str
    runs_on: list[str]
    minutes: int
    reason: str
    pool: str
    platform: str
    image: str
    gpus: int
    exclusive: bool
    features: list[str]
    kind: str = ""
    launcher: str = ""
    launcher_daemon: str = ""


def jobs(chosen: Sequence[Cell], counts: Mapping[str, int] | None = None) -> list[Job]:
    """Return one job for each shard of each cell that runs."""
    return [
        _job(cell, cell.pool, Shard(index, count))
        for cell in chosen
        if cell.pool
        for count in [(counts or {}).get(cell.target, 1)]
        for index in range(1, count + 1)
    ]


def _job(cell: Cell, pool: Pool, shard: Shard) -> Job:
    return Job(
        target=cell.target,
        tier=cell.tier,
        env=f"{cell.tier}-{cell.target}",
        shard=str(shard),
        part=shard.folder,
        runs_on=list(pool.labels),
        minutes=cell.minutes,
        reason=cell.reason,
        pool=pool.name,
        platform=cell.promise.platform,
        image=pool.image,
        gpus=pool.gpus,
        exclusive=pool.exclusive,
        features=list(cell.promise.features),
        kind=pool.kind,
        launcher=pool.environment.get(LAUNCHER, ""),
        launcher_daemon=pool.environment.get(DAEMON, ""),
    )


def document(config: CiTargets, chosen: Sequence[Cell], counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return what ``ci merge --matrix`` reads: jobs, cells that do not run, and allowed skips that have expired."""
    absent = [{"target": cell.target, "why": cell.why.value, "reason": cell.reason} for cell in chosen if cell.why]
    drained = [
        {"pool": pool.name, "targets": list(pool.targets), "state": pool.state} for pool in config.pools if not pool.up
    ]
    expired = [
        f"{target.name}: the skip ({skip.words}) was allowed until {skip.expires}: {skip.owner}: {skip.reason}"
        for target in config.targets
        for skip in target.tolerated
        if skip.expired()
    ]
    return {
        "schema": SCHEMA,
        "tier": chosen[0].tier if chosen else "",
        "include": [asdict(job) for job in jobs(chosen, counts)],
        "absent": absent,
        "drained": drained,
        "expired": expired,
    }


def planned(chosen: Sequence[Cell], file: Path) -> tuple[tuple[Cell, ...], dict[str, int]]:
    """Return the cells of targets that a plan has, those that do not run, and the number of shards of each.

    UsageError for what is no plan.
    """
    try:
        counts = Counter(part.target for part in RunPlan.read(file, may_be_empty=True).parts)
    except PlanError as error:
        raise UsageError(f"--plan {error}") from None
    return tuple(cell for cell in chosen if not cell.runs or cell.target in counts), dict(counts)


class _Include(Struct):
    target: Name


class _Absent(Struct):
    target: Name
    why: Short
    reason: Text


class _Drained(Struct):
    pool: Name
    targets: list[Name]
    state: Text


class _Document(Struct):
    include: list[_Include]
    absent: list[_Absent] = []
    drained: list[_Drained] = []
    expired: list[Text] = []


@dataclass(frozen=True)
class NightExpectation:
    """The expectations of a matrix file for the night.

    They are targets that run, promised ones that do not, allowed skips that expired, and in ``notes`` drained pools
    whose work others do.
    """

    targets: tuple[str, ...] = ()
    absent: tuple[MissingTarget, ...] = ()
    expired: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def expected_of(file: Path) -> NightExpectation:
    """Read a matrix file. Raises UsageError if ``ci matrix`` did not write it."""
    try:
        read = shaped(_Document, parse_json(read_bytes(file)))
    except InvalidInput as error:
        raise UsageError(f"{file}: not a matrix of `bitgate ci matrix`: {error}") from None
    missing = [one for one in read.absent if one.why not in (SkipReason.GATE.value, SkipReason.EMULATED.value)]
    absent = tuple(MissingTarget(one.target, one.reason) for one in missing)
    emulated = (f"{one.target}: {one.reason}" for one in read.absent if one.why == SkipReason.EMULATED.value)
    drained = [(f"pool {one.pool} {one.state}", one) for one in read.drained]
    return NightExpectation(
        tuple(dict.fromkeys(cell.target for cell in read.include)),
        absent,
        tuple(read.expired),
        (
            *(
                f"{state} ({', '.join(one.targets)})"
                for state, one in drained
                if not any(state in a.reason for a in absent)
            ),
            *emulated,
        ),
    )


def targets_of(file: Path) -> list[str]:
    """Return the targets that a matrix file runs. Raises UsageError as ``expected_of``."""
    return list(expected_of(file).targets)


def shard_counts(stated: Sequence[str], targets: Sequence[str]) -> dict[str, int]:
    """Parse shard counts: ``4`` for every target, ``gfx942=6`` for one; the last count of a target holds.

    Raises UsageError for anything else.
    """
    counts = dict.fromkeys(targets, 1)
    for text in stated:
        stated_name, _, number = text.rpartition("=")
        name = canonical(stated_name)
        if name and name not in counts:
            raise UsageError(f"--shards {text}: {name} is none of {', '.join(targets)}")
        if not re.fullmatch(r"[1-9]\d{0,3}", number) or int(number) > MOST:
            raise UsageError(f"--shards {text}: write N or TARGET=N, with N from 1 to {MOST}")
        counts |= {name: int(number)} if name else dict.fromkeys(targets, int(number))
    return counts
