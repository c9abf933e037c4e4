"""The job matrix of a tier: one cell a target, with the reason why it runs or does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.ci.targets import GATES, CiTarget, CiTargets


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


def github_matrix(chosen: Sequence[Cell]) -> dict[str, Any]:
    """The value of ``strategy.matrix``: only cells that run; GitHub would take any other key for a dimension."""
    return {
        "include": [
            {
                "target": cell.target,
                "tier": cell.tier,
                "env": f"{cell.tier}-{cell.target}",
                "runs_on": list(cell.labels),
                "minutes": cell.minutes,
                "reason": cell.reason,
            }
            for cell in chosen
            if cell.runs
        ]
    }


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
