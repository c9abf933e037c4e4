"""``ci/targets.toml``: what is promised per target, and which machines of the lab keep the promise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.core.choices import ENGINES, FORGES, REGRESSION, SMOKE, TIERS
from bitgate.core.errors import UsageError, near
from bitgate.core.project import Project
from bitgate.core.table_fields import (
    FieldError,
    TableFields,
    are_tables,
    boolean,
    day,
    each,
    first_double,
    like,
    list_of,
    number,
    one_of,
    string,
    tables,
    text,
)
from bitgate.core.targets import PLATFORMS, Architecture, Platform, architecture_of, canonical, target_id
from bitgate.core.toml import read_toml
from bitgate.core.untrusted import RULE, is_safe
from bitgate.results.allowed_skips import AllowedSkip

SCHEMA = 2
READ = (1, SCHEMA)
"""In schema 1 every pool is GitHub's, and has no more than name, target, labels and state."""
MOST_MINUTES = 6 * 24 * 60
MOST_GPUS = 1024

# Which tiers a gate opens.
GATES: dict[str, tuple[str, ...]] = {
    "pull_request": (SMOKE, REGRESSION),
    "nightly": (REGRESSION,),
}

CONSTRAINT = r"[A-Za-z0-9_.+|&*()\[\]-]{1,240}"
IMAGE = r"[a-z0-9][A-Za-z0-9_.:/@-]{0,240}"


class CiTarget(Struct, frozen=True):
    """One ``[target.NAME]``: minutes that a job of a tier may take, and the gate that says when it runs.

    ``name`` is a TargetId's; ``features`` are those of its architecture that its kernels rest on.
    """

    name: str
    platform: str
    gate: str
    minutes: Mapping[str, int]
    features: tuple[str, ...] = ()
    tolerated: tuple[AllowedSkip, ...] = ()


class Pool(Struct, frozen=True):
    """One ``[[pool]]``: machines, each with a device of any of these targets.

    ``labels`` is what a forge asks of a runner, ``constraint`` what an engine does. A job gets ``gpus`` devices, in a
    container of ``image`` if there is one.
    """

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
        """Return whether one of these devices runs code for a target; one in a target's place takes no other."""
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
    """Return what not every architecture has, in words of ``features``."""
    matrix = architecture.matrix
    words = [f"wave{wave}" for wave in architecture.waves]
    if matrix and architecture.platform != "host":
        words += [matrix.name.removesuffix(".sync").lower()]
        words += [f"fp8_{matrix.float8}"] if matrix.float8 else []
    return (*words, *architecture.features)


def read_targets(path: Path, tiers: Sequence[str] = TIERS) -> CiTargets:
    """Read and check the file, of a project with these tiers. Raises UsageError, which names the key that is unknown,
    missing or wrong, and what would be right."""
    document, _ = read_toml(path)
    stated = _DOCUMENT.read(path, document)
    promised, pools_ = stated.get("target", {}), stated.get("pool", [])
    targets = tuple(_target(path, name, values, tiers) for name, values in promised.items())
    names = [target.name for target in targets]
    pools = tuple(_pool(path, f"[[pool]] {n}", pool, names, stated["schema"]) for n, pool in enumerate(pools_, 1))
    for kind, given in (("target", names), ("pool", [pool.name for pool in pools])):
        if twice := first_double(given):
            raise UsageError(f"{path}: {kind} {twice} appears twice")
    return CiTargets(targets, pools)


def tolerated_by(project: Project, target: str) -> tuple[AllowedSkip, ...]:
    """Return the skips that a project's file allows a target; none without a file. Raises UsageError for a bad one."""
    promise = read_targets(project.targets, project.tiers).target(target) if project.targets else None
    return promise.tolerated if promise else ()


def _target(path: Path, name: str, values: Mapping[str, Any], tiers: Sequence[str]) -> CiTarget:
    place = f"{path}: [target.{name}]"
    if "name" in values:
        raise FieldError(place, "name", "no such field; the name is the one in the brackets")
    stated = _TARGET.read(place, values)
    skips = tuple(
        _skip(f"{path}: [[target.{name}.tolerated]] {n}", skip) for n, skip in enumerate(stated.pop("tolerated", ()), 1)
    )
    target = CiTarget(name=canonical(name), **stated, tolerated=skips)
    if set(target.minutes) != set(tiers):
        raise FieldError(place, "minutes", f"give one number each for {', '.join(tiers)}")
    try:
        platform = target_id(target.name).platform
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    if target.platform != platform:
        raise FieldError(place, "platform", f"{target.platform!r} is not that of {target.name}: {platform}")
    has = features_of(architecture_of(target.name))
    for word in target.features:
        if word not in has:
            raise FieldError(place, "features", f"{target.name} has no '{word:.40}'; {near(word, has)}")
    return target


def _skip(place: str, values: Mapping[str, Any]) -> AllowedSkip:
    skip = AllowedSkip(**_SKIP.read(place, values))
    if skip.case == skip.kernel == skip.not_run == "*":
        raise UsageError(f"{place}: it takes in everything: name a glob as case, kernel or not_run")
    return skip


def _pool(path: Path, where: str, values: Mapping[str, Any], targets: Sequence[str], schema: int) -> Pool:
    place = f"{path}: {where}"
    stated = _POOL.read(place, values)
    if "backend" not in stated and schema > 1:
        raise FieldError(place, "backend", f"is missing; {', '.join(FORGES + ENGINES)}")
    pool = Pool(targets=stated.pop("target"), **stated)
    place = f"{path}: [[pool]] {pool.name}"
    try:
        serves = any(pool.serves(target) for target in targets)
    except UsageError as error:
        raise FieldError(place, "target", error) from None
    if not serves:
        raise FieldError(place, "target", f"{', '.join(pool.targets)!r:.80} serves none of {', '.join(targets)}")
    if pool.backend in FORGES:
        if not pool.labels:
            raise FieldError(place, "labels", f"give a list of one or more words: {RULE}")
        if pool.constraint:
            raise FieldError(place, "constraint", f"is for {' and '.join(ENGINES)}: {pool.backend} has labels")
    elif pool.labels:
        raise FieldError(place, "labels", f"are for {', '.join(FORGES)}: {pool.backend} has a constraint")
    return pool


def _minutes(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError("give a table such as { smoke = 15, regression = 60 }")
    return {tier: number(1, MOST_MINUTES)(minutes) for tier, minutes in value.items()}


def _named_tables(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not are_tables([*value.values()]):
        raise ValueError("targets are tables; write [target.gfx942]")
    return value


def _schema(value: Any) -> int:
    if type(value) is not int or value not in READ:
        raise ValueError(f"{value!r:.40}: this bitgate reads {' and '.join(map(str, READ))}")
    return value


def _device(value: Any) -> str:
    return canonical(string(value))


def _word(value: Any) -> str:
    if not isinstance(value, str) or not is_safe(value):
        raise ValueError(f"{value!r:.80}: {RULE}")
    return value


def _state(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"up|drained:.*\S.*", value, re.DOTALL):
        raise ValueError(f'{value!r:.80}: write "up" or "drained: <reason>"')
    return value


_DOCUMENT = TableFields(
    {"schema": _schema, "target": _named_tables, "pool": tables("[[pool]]")},
    {"schema": f"write schema = {SCHEMA}"},
)
_TARGET = TableFields(
    {
        "platform": one_of(*PLATFORMS),
        "gate": one_of(*GATES),
        "minutes": _minutes,
        "features": list_of(string),
        "tolerated": tables("[[target.NAME.tolerated]]"),
    },
    {
        "platform": f"one of {', '.join(PLATFORMS)}",
        "gate": f"when it runs: {', '.join(GATES)}",
        "minutes": "after which a job is stopped, for each tier",
    },
)
_SKIP = TableFields(
    {"reason": text, "owner": text, "expires": day, "case": string, "kernel": string, "not_run": string},
    {
        "reason": "why the cases need not run",
        "owner": "who will make them run",
        "expires": "the last day, such as 2030-01-31",
    },
)
_POOL = TableFields(
    {
        "name": _word,
        "target": each(_device),
        "state": _state,
        "backend": one_of(*FORGES, *ENGINES),
        "labels": list_of(_word),
        "constraint": like(f"({CONSTRAINT})?", "gfx942&mi300"),
        "gpus": number(0, MOST_GPUS),
        "exclusive": boolean,
        "image": like(f"({IMAGE})?", "NAME:TAG or NAME@sha256:DIGEST"),
    },
    {"name": "what the pool is called", "target": "a target, or a list", "state": 'write "up" or "drained: <reason>"'},
)
