"""``ci/targets.toml``: what is promised per target, and which machines of the lab keep the promise."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from bitgate.architecture import PLATFORMS, Platform
from bitgate.errors import UsageError, near
from bitgate.outside import read_bytes
from bitgate.project import TIERS
from bitgate.safe_name import RULE, is_safe
from bitgate.target_id import canonical, target_id

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = 1
LONGEST = 1 << 20
MOST_MINUTES = 6 * 24 * 60

# Which tiers a gate opens.
GATES: dict[str, tuple[str, ...]] = {
    "pull_request": ("smoke", "regression"),
    "nightly": ("regression",),
}

T = TypeVar("T")


@dataclass(frozen=True)
class CiTarget:
    """``[target.NAME]``: minutes a job of a tier may take, and the gate that says when it runs. ``name`` is a
    TargetId's."""

    name: str
    platform: str
    gate: str
    minutes: Mapping[str, int]


@dataclass(frozen=True)
class Pool:
    """``[[pool]]``: runners with these labels serve ``target``; ``state`` is ``up`` or ``drained: <reason>``."""

    name: str
    target: str
    labels: tuple[str, ...]
    state: str

    @property
    def up(self) -> bool:
        return self.state == "up"


@dataclass(frozen=True)
class CiTargets:
    """The whole file, targets in its order."""

    targets: tuple[CiTarget, ...]
    pools: tuple[Pool, ...]

    def pools_of(self, target: str) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.pools if pool.target == target)

    def of(self, platform: Platform) -> tuple[str, ...]:
        """Names of the targets of a platform."""
        return tuple(target.name for target in self.targets if target.platform == platform)


def read_targets(path: Path, tiers: Sequence[str] = TIERS) -> CiTargets:
    """Read and check the file, of a project with these tiers. UsageError names the key that is unknown, missing or
    wrong, and what would be right."""
    try:
        document = tomllib.loads(read_bytes(path, LONGEST).decode())
    except (ValueError, RecursionError) as error:  # no file, not TOML, not UTF-8, a number of thousands of digits
        raise UsageError(f"{path}: {error}") from None
    _known(path, "the file", document, ("schema", "target", "pool"))
    if document.get("schema") != SCHEMA:
        raise UsageError(f"{path}: schema = {document.get('schema')!r:.40}: this bitgate reads {SCHEMA}")
    tables, pools_ = document.get("target", {}), document.get("pool", [])
    if not _are_tables(tables.values() if isinstance(tables, dict) else [tables]):
        raise UsageError(f"{path}: targets are tables: write [target.gfx942]")
    if not isinstance(pools_, list) or not _are_tables(pools_):
        raise UsageError(f"{path}: pools are a list of tables: write [[pool]]")
    targets = tuple(_record(path, f"[target.{n}]", CiTarget, {"name": canonical(n), **tables[n]}) for n in tables)
    for target in targets:
        _check_target(path, target, tiers)
    pools = tuple(_record(path, f"[[pool]] {n}", Pool, pool) for n, pool in enumerate(pools_, 1))
    pools = tuple(replace(pool, target=canonical(str(pool.target))) for pool in pools)
    for pool in pools:
        _check_pool(path, pool, [target.name for target in targets])
    return CiTargets(targets, pools)


def _are_tables(values: Iterable[object]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _record(path: Path, where: str, kind: type[T], values: Mapping[str, Any]) -> T:
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    _known(path, where, values, names)
    required = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]
    missing = [name for name in required if name not in values]
    if missing:
        raise UsageError(f"{path}: {where}: {', '.join(missing)} missing")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _known(path: Path, where: str, values: Mapping[str, Any], known: Any) -> None:
    for name in values:
        if name not in known:
            raise UsageError(f"{path}: {where}: unknown key '{name}': {near(name, known)}")


def _check_target(path: Path, target: CiTarget, tiers: Sequence[str]) -> None:
    where = f"[target.{target.name}]"
    _one_of(path, where, "platform", target.platform, PLATFORMS)
    _one_of(path, where, "gate", target.gate, tuple(GATES))
    if not isinstance(target.minutes, dict) or set(target.minutes) != set(tiers):
        raise UsageError(f"{path}: {where}: minutes needs one number each for {', '.join(tiers)}")
    if not all(type(value) is int and 0 < value <= MOST_MINUTES for value in target.minutes.values()):
        raise UsageError(f"{path}: {where}: minutes are positive integers up to {MOST_MINUTES}")
    try:
        platform = target_id(target.name).platform
    except UsageError as error:
        raise UsageError(f"{path}: {where}: {error}") from None
    if target.platform != platform:
        raise UsageError(f"{path}: {where}: platform = {target.platform!r}: {target.name} is of {platform}")


def _check_pool(path: Path, pool: Pool, targets: list[str]) -> None:
    where = f"[[pool]] {pool.name!s:.40}"
    if not is_safe(pool.name):
        raise UsageError(f"{path}: {where}: name: {RULE}")
    _one_of(path, where, "target", pool.target, tuple(targets))
    if not isinstance(pool.labels, tuple) or not pool.labels or not all(map(is_safe, pool.labels)):
        raise UsageError(f"{path}: {where}: labels is a list of one or more words: {RULE}")
    if not pool.up and not (isinstance(pool.state, str) and pool.state.removeprefix("drained:").strip() != pool.state):
        raise UsageError(f'{path}: {where}: state = {pool.state!r}: write "up" or "drained: <reason>"')


def _one_of(path: Path, where: str, name: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{path}: {where}: {name} = {value!r:.80} is none of {', '.join(known)}")
