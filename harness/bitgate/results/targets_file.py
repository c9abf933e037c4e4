"""``ci/targets.toml``: what is promised per target, and which machines of the lab keep the promise."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bitgate.core.errors import UsageError, near
from bitgate.core.project import TIERS, Project
from bitgate.core.targets import PLATFORMS, Architecture, Platform, architecture_of, canonical, target_id
from bitgate.core.untrusted import RULE, InvalidInput, is_safe, read_bytes, shaped
from bitgate.results.allowed_skips import AllowedSkip

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = 2
READ = (1, SCHEMA)
"""In schema 1 every pool is GitHub's, and has no more than name, target, labels and state."""
LONGEST = 1 << 20
MOST_MINUTES = 6 * 24 * 60
MOST_GPUS = 1024

# Which tiers a gate opens.
GATES: dict[str, tuple[str, ...]] = {
    "pull_request": ("smoke", "regression"),
    "nightly": ("regression",),
}

FORGES = ("github", "gitlab", "jenkins")
"""Backends that start a pool's jobs by themselves, on machines with its labels."""
ENGINES = ("slurm", "dask", "local")
"""Backends that `bitgate ci submit` hands a pool's jobs to."""
CONSTRAINT = r"[A-Za-z0-9_.+|&*()\[\]-]{1,240}"
IMAGE = r"[a-z0-9][A-Za-z0-9_.:/@-]{0,240}"

T = TypeVar("T", bound=Struct)


class CiTarget(Struct, frozen=True):
    """``[target.NAME]``: minutes a job of a tier may take, and the gate that says when it runs. ``name`` is a
    TargetId's; ``features`` are those of its architecture that its kernels rest on."""

    name: str
    platform: str
    gate: str
    minutes: Mapping[str, int]
    features: tuple[str, ...] = ()
    tolerated: tuple[AllowedSkip, ...] = ()


class Pool(Struct, frozen=True):
    """``[[pool]]``: machines, each with a device of any of these targets. ``labels`` is what a forge asks of a runner,
    ``constraint`` what an engine does; a job gets ``gpus`` of them, in a container of ``image`` if there is one."""

    name: str
    targets: tuple[str, ...]
    state: str
    backend: str = "github"
    labels: tuple[str, ...] = ()
    constraint: str = ""
    gpus: int = 0
    exclusive: bool = False
    image: str = ""

    @property
    def up(self) -> bool:
        return self.state == "up"

    def serves(self, target: str) -> bool:
        """Does code that is built for a target run on one of these devices? What takes one place takes no other."""
        wanted, devices = target_id(target), map(target_id, self.targets)
        return any(wanted.runs_on(one) and one.in_place_of in ("", wanted.in_place_of) for one in devices)


class CiTargets(Struct, frozen=True):
    """The whole file, targets in its order."""

    targets: tuple[CiTarget, ...]
    pools: tuple[Pool, ...]

    def target(self, name: str) -> CiTarget | None:
        return next((target for target in self.targets if target.name == canonical(name)), None)

    def pools_of(self, target: str) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.pools if pool.serves(target))

    def of(self, platform: Platform) -> tuple[str, ...]:
        """Names of the targets of a platform."""
        return tuple(target.name for target in self.targets if target.platform == platform)


def features_of(architecture: Architecture) -> tuple[str, ...]:
    """What an architecture has that not every one has, in words of ``features``."""
    matrix = architecture.matrix
    words = [f"wave{wave}" for wave in architecture.waves]
    if matrix and architecture.platform != "host":
        words += [matrix.name.removesuffix(".sync").lower()]
        words += [f"fp8_{matrix.float8}"] if matrix.float8 else []
    return (*words, *architecture.features)


def read_targets(path: Path, tiers: Sequence[str] = TIERS) -> CiTargets:
    """Read and check the file, of a project with these tiers. UsageError names the key that is unknown, missing or
    wrong, and what would be right."""
    try:
        document = tomllib.loads(read_bytes(path, LONGEST).decode())
    except (ValueError, RecursionError) as error:  # no file, not TOML, not UTF-8, a number of thousands of digits
        raise UsageError(f"{path}: {error}") from None
    _known(path, "the file", document, ("schema", "target", "pool"))
    schema = document.get("schema")
    if type(schema) is not int or schema not in READ:
        raise UsageError(f"{path}: schema = {schema!r:.40}: this bitgate reads {' and '.join(map(str, READ))}")
    tables, pools_ = document.get("target", {}), document.get("pool", [])
    if not _are_tables(tables.values() if isinstance(tables, dict) else [tables]):
        raise UsageError(f"{path}: targets are tables: write [target.gfx942]")
    if not isinstance(pools_, list) or not _are_tables(pools_):
        raise UsageError(f"{path}: pools are a list of tables: write [[pool]]")
    targets = tuple(_target(path, name, tables[name], tiers) for name in tables)
    names = [target.name for target in targets]
    pools = tuple(_pool(path, f"[[pool]] {n}", pool, names, schema) for n, pool in enumerate(pools_, 1))
    for kind, given in (("target", names), ("pool", [pool.name for pool in pools])):
        if twice := next((name for name in given if given.count(name) > 1), None):
            raise UsageError(f"{path}: {kind} {twice} stands there twice")
    return CiTargets(targets, pools)


def tolerated_by(project: Project, target: str) -> tuple[AllowedSkip, ...]:
    """The gaps that a project's file allows a target; none where there is no file. UsageError for a bad one."""
    promise = read_targets(project.targets, project.tiers).target(target) if project.targets else None
    return promise.tolerated if promise else ()


def _are_tables(values: Iterable[object]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _record(path: Path, where: str, kind: type[T], values: Mapping[str, Any]) -> T:
    fields = msgspec.structs.fields(kind)
    _known(path, where, values, [field.name for field in fields])
    missing = [field.name for field in fields if field.required and field.name not in values]
    if missing:
        raise UsageError(f"{path}: {where}: {', '.join(missing)} missing")
    try:
        return shaped(kind, dict(values))
    except InvalidInput as error:
        raise UsageError(f"{path}: {where}: {error}") from None


def _known(path: Path, where: str, values: Mapping[str, Any], known: Any) -> None:
    for name in values:
        if name not in known:
            raise UsageError(f"{path}: {where}: unknown key '{name}': {near(name, known)}")


def _target(path: Path, name: str, values: Mapping[str, Any], tiers: Sequence[str]) -> CiTarget:
    where = f"[target.{name}]"
    if "name" in values:
        raise UsageError(f"{path}: {where}: unknown key 'name': it stands in the brackets")
    gaps = values.get("tolerated", [])
    if not isinstance(gaps, list) or not _are_tables(gaps):
        raise UsageError(f"{path}: {where}: tolerated gaps are a list of tables: write [[target.{name}.tolerated]]")
    read = [_gap(path, f"[[target.{name}.tolerated]] {n}", gap) for n, gap in enumerate(gaps, 1)]
    target = _record(path, where, CiTarget, {**values, "name": canonical(name), "tolerated": read})
    _one_of(path, where, "platform", target.platform, PLATFORMS)
    _one_of(path, where, "gate", target.gate, tuple(GATES))
    if set(target.minutes) != set(tiers):
        raise UsageError(f"{path}: {where}: minutes needs one number each for {', '.join(tiers)}")
    if not all(0 < value <= MOST_MINUTES for value in target.minutes.values()):
        raise UsageError(f"{path}: {where}: minutes are positive integers up to {MOST_MINUTES}")
    try:
        platform = target_id(target.name).platform
    except UsageError as error:
        raise UsageError(f"{path}: {where}: {error}") from None
    if target.platform != platform:
        raise UsageError(f"{path}: {where}: platform = {target.platform!r}: {target.name} is of {platform}")
    has = features_of(architecture_of(target.name))
    for word in target.features:
        if word not in has:
            raise UsageError(f"{path}: {where}: features: {target.name} has no '{word:.40}': {near(word, has)}")
    return target


def _gap(path: Path, where: str, values: Mapping[str, Any]) -> AllowedSkip:
    gap = _record(path, where, AllowedSkip, values)
    if not (gap.reason.strip() and gap.owner.strip()):
        raise UsageError(f"{path}: {where}: reason and owner are for people: say why, and who fills the gap")
    if gap.case == gap.kernel == gap.not_run == "*":
        raise UsageError(f"{path}: {where}: it takes in everything: name a glob as case, kernel or not_run")
    return gap


def _pool(path: Path, where: str, values: Mapping[str, Any], targets: Sequence[str], schema: int) -> Pool:
    stated = values.get("target")
    if stated is None:
        raise UsageError(f"{path}: {where}: target missing")
    if "backend" not in values and schema > 1:
        raise UsageError(f"{path}: {where}: backend missing: {', '.join(FORGES + ENGINES)}")
    if "targets" in values:
        raise UsageError(f"{path}: {where}: unknown key 'targets': did you mean 'target'?")
    devices = stated if isinstance(stated, list) else [stated]
    renamed = {**values, "targets": [canonical(one) if isinstance(one, str) else one for one in devices]}
    pool = _record(path, where, Pool, {name: value for name, value in renamed.items() if name != "target"})
    if not is_safe(pool.name):
        raise UsageError(f"{path}: {where}: name: {RULE}")
    where = f"[[pool]] {pool.name}"
    _one_of(path, where, "backend", pool.backend, FORGES + ENGINES)
    try:
        serves = any(pool.serves(target) for target in targets)
    except UsageError as error:
        raise UsageError(f"{path}: {where}: target: {error}") from None
    if not serves:
        named = ", ".join(pool.targets)
        raise UsageError(f"{path}: {where}: target = {named!r:.80} serves none of {', '.join(targets)}")
    _check_asked(path, where, pool)
    if not pool.up and not (pool.state.startswith("drained:") and pool.state.removeprefix("drained:").strip()):
        raise UsageError(f'{path}: {where}: state = {pool.state!r}: write "up" or "drained: <reason>"')
    return pool


def _check_asked(path: Path, where: str, pool: Pool) -> None:
    """What jobs ask of a machine, in the words of the pool's backend."""
    if pool.backend in FORGES:
        if not pool.labels or not all(map(is_safe, pool.labels)):
            raise UsageError(f"{path}: {where}: labels is a list of one or more words: {RULE}")
        if pool.constraint:
            raise UsageError(f"{path}: {where}: constraint is of {' and '.join(ENGINES)}: {pool.backend} has labels")
    elif pool.labels:
        raise UsageError(f"{path}: {where}: labels are of {', '.join(FORGES)}: {pool.backend} has a constraint")
    if pool.constraint and not re.fullmatch(CONSTRAINT, pool.constraint):
        raise UsageError(f"{path}: {where}: constraint = {pool.constraint!r:.80}: write features such as gfx942&mi300")
    if pool.image and not re.fullmatch(IMAGE, pool.image):
        raise UsageError(f"{path}: {where}: image = {pool.image!r:.80}: write NAME:TAG or NAME@sha256:DIGEST")
    if not 0 <= pool.gpus <= MOST_GPUS:
        raise UsageError(f"{path}: {where}: gpus = {pool.gpus}: write how many a job gets, up to {MOST_GPUS}")


def _one_of(path: Path, where: str, name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{path}: {where}: {name} = {value!r:.80} is none of {', '.join(known)}")
