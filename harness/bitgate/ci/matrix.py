"""The job matrix of a tier: one cell a target, with the reason why it runs or does not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.cases.shard import MOST, Shard
from bitgate.ci.targets import GATES, CiTarget, CiTargets
from bitgate.errors import UsageError
from bitgate.outside import Name, OddInput, parse_json, read_bytes, shaped
from bitgate.target_id import canonical


@dataclass(frozen=True)
class Cell:
    """One target in one tier. ``labels`` is empty if the cell does not run; ``reason`` says why, either way."""

    target: str
    tier: str
    platform: str
    minutes: int
    labels: tuple[str, ...]
    reason: str

    @property
    def runs(self) -> bool:
        return bool(self.labels)


def cells(config: CiTargets, tier: str) -> tuple[Cell, ...]:
    """A cell for every target of the file, in its order."""
    return tuple(_cell(config, target, tier) for target in config.targets)


def github_matrix(chosen: Sequence[Cell], counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The value of ``strategy.matrix``: only cells that run, one a shard; GitHub would take any other key for a
    dimension."""
    return {
        "include": [
            {
                "target": cell.target,
                "tier": cell.tier,
                "env": f"{cell.tier}-{cell.target}",
                "shard": str(shard),
                "part": shard.folder,
                "runs_on": list(cell.labels),
                "minutes": cell.minutes,
                "reason": cell.reason,
            }
            for cell in chosen
            if cell.runs
            for shard in _shards((counts or {}).get(cell.target, 1))
        ]
    }


def _shards(count: int) -> list[Shard]:
    return [Shard(index, count) for index in range(1, count + 1)]


def _cell(config: CiTargets, target: CiTarget, tier: str) -> Cell:
    labels, reason = _decide(config, target, tier)
    return Cell(target.name, tier, target.platform, target.minutes[tier], labels, reason)


def _decide(config: CiTargets, target: CiTarget, tier: str) -> tuple[tuple[str, ...], str]:
    if tier not in GATES[target.gate]:
        return (), f"gate {target.gate} runs {', '.join(GATES[target.gate])} only"
    pools = config.pools_of(target.name)
    up = next((pool for pool in pools if pool.up), None)
    if up:
        return up.labels, f"gate {target.gate}, pool {up.name}"
    if pools:
        return (), "; ".join(f"pool {pool.name} {pool.state}" for pool in pools)
    return (), "no pool serves it"


class _Include(Struct):
    target: Name


class _Matrix(Struct):
    include: list[_Include]


def targets_of(file: Path) -> list[str]:
    """The targets that a matrix file runs. UsageError if ``ci matrix --json`` did not print it."""
    try:
        matrix = shaped(_Matrix, parse_json(read_bytes(file)))
    except OddInput as error:
        raise UsageError(f"{file}: not a matrix of `bitgate ci matrix --json`: {error}") from None
    return list(dict.fromkeys(cell.target for cell in matrix.include))


def shard_counts(stated: Sequence[str], targets: Sequence[str]) -> dict[str, int]:
    """``4`` for every target, ``gfx942=6`` for one; the last word on a target counts. UsageError for anything else."""
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
