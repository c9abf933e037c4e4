"""``ci/targets.toml``: what is promised per target, and which machines of the lab keep the promise."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from bitgate.core import emulation
from bitgate.core.choices import ENGINES, FORGES, REGRESSION, SMOKE, TIERS
from bitgate.core.emulation import EMULATED as EMULATED_KIND
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
from bitgate.core.targets import (
    EMULATED,
    PLATFORMS,
    Architecture,
    Platform,
    architecture_of,
    canonical,
    emulated,
    is_emulated,
    target_id,
)
from bitgate.core.toml import read_toml
from bitgate.core.untrusted import RULE, is_safe
from bitgate.results.allowed_skips import AllowedSkip

SCHEMA = 2
READ = (1, SCHEMA)
"""In schema 1 every pool is GitHub's, and has no more than name, target, labels and state."""
MOST_MINUTES = 6 * 24 * 60
MOST_GPUS = 1024
WHOLE = "whole"
EMULATED_SECONDS = 3600.0
"""The seconds on one worker from which a pool of emulators takes its cases, unless it states others."""

# Which tiers a gate opens.
GATES: dict[str, tuple[str, ...]] = {
    "pull_request": (SMOKE, REGRESSION),
    "nightly": (REGRESSION,),
}

CONSTRAINT = r"[A-Za-z0-9_.+|&*()\[\]-]{1,240}"
IMAGE = r"[a-z0-9][A-Za-z0-9_.:/@-]{0,240}"


class CiTarget(Struct, frozen=True):
    """One ``[target.NAME]``: minutes that a job of a tier may take, and the gate that says when it runs.

    ``name`` is a TargetId's; ``features`` are those of its architecture that its kernels rest on. ``emulated``: the
    gate by which emulators of it run too, and keep the promise where no machine with the GPU is up; empty for none.
    """

    name: str
    platform: str
    gate: str
    minutes: Mapping[str, int]
    features: tuple[str, ...] = ()
    tolerated: tuple[AllowedSkip, ...] = ()
    emulated: str = ""

    @property
    def on_emulator(self) -> CiTarget:
        """The promise of the same code on an emulator."""
        return structs.replace(self, name=f"{EMULATED}{self.name}", gate=self.emulated, emulated="")


class Pool(Struct, frozen=True):
    """One ``[[pool]]``: machines, each with a device of any of these targets.

    ``labels`` is what a forge asks of a runner, ``constraint`` what an engine does. A job gets ``gpus`` devices, in a
    container of ``image`` if there is one. In one of ``kind`` emulated the devices are emulators', which ``launcher``
    starts, or attaches to the process that ``daemon`` starts; it takes cases by their cost, of ``seconds`` together on
    one worker, or the ``whole`` tier.
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
    kind: str = ""
    launcher: tuple[str, ...] = ()
    daemon: tuple[str, ...] = ()
    tier: str = ""
    seconds: float = EMULATED_SECONDS

    @property
    def is_emulated(self) -> bool:
        return self.kind == EMULATED_KIND

    @property
    def environment(self) -> dict[str, str]:
        """The variables that its jobs need; none where programs run as they are."""
        commands = {emulation.LAUNCHER: self.launcher, emulation.DAEMON: self.daemon}
        return {name: shlex.join(words) for name, words in commands.items() if words}

    @property
    def budget(self) -> float | None:
        """The seconds from which its cases are chosen; None where it takes the whole tier."""
        return self.seconds if self.is_emulated and self.tier != WHOLE else None

    @property
    def up(self) -> bool:
        return self.state == "up"

    def serves(self, target: str) -> bool:
        """Return whether one of these devices runs code for a target; one in a target's place takes no other, and no
        emulator takes a GPU's."""
        wanted, devices = target_id(target), map(target_id, self.targets)
        return any(
            wanted.runs_on(one)
            and one.in_place_of in ("", wanted.in_place_of)
            and one.is_emulated == wanted.is_emulated
            for one in devices
        )


class CiTargets(Struct, frozen=True):
    """The whole file, targets in its order."""

    targets: tuple[CiTarget, ...]
    pools: tuple[Pool, ...]

    def target(self, name: str) -> CiTarget | None:
        wanted = canonical(name)
        promised = (*self.targets, *(target.on_emulator for target in self.targets if target.emulated))
        return next((target for target in promised if target.name == wanted), None)

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
    if is_emulated(target.name):
        promised = target.name.removeprefix(EMULATED)
        raise UsageError(f"{place}: no machine has it: write emulated = '{target.gate}' in [target.{promised}]")
    if target.emulated and platform != "amd":
        raise FieldError(place, "emulated", f"emulators are of AMD GPUs, and {target.name} is none: leave it out")
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
    if pool.is_emulated:
        pool = _emulators(place, pool)
        targets = [f"{EMULATED}{name}" for name in targets if target_id(name).platform == "amd"]
    elif stray := next((name for name in _OF_EMULATORS if name in stated), None):
        raise FieldError(place, stray, f'is for pools of kind = "{EMULATED_KIND}"')
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


_OF_EMULATORS = ("launcher", "daemon", "tier", "seconds")


def _emulators(place: str, pool: Pool) -> Pool:
    """Return a pool of emulators, whose devices have names that no GPU has."""
    if not pool.launcher:
        raise FieldError(place, "launcher", 'is missing: write launcher = ["rocjitsu", "--config", "FILE", "--"]')
    try:
        names = tuple(one if is_emulated(one) else emulated(target_id(one)).name for one in pool.targets)
    except UsageError as error:
        raise FieldError(place, "target", error) from None
    return structs.replace(pool, targets=names)


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
        "emulated": one_of(*GATES),
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
        "kind": one_of("hardware", EMULATED_KIND),
        "launcher": list_of(text),
        "daemon": list_of(text),
        "tier": one_of(EMULATED_KIND, WHOLE),
        "seconds": number(1, MOST_MINUTES * 60),
    },
    {"name": "what the pool is called", "target": "a target, or a list", "state": 'write "up" or "drained: <reason>"'},
)
