"""The plan of a run over many targets and shards: every case that must have a verdict, and one hash over all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import NODEFAULT, Struct, structs

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import InvalidInput, Name, Seconds, Short, parse_json, read_bytes, shaped
from bitgate.results.plan import Plan, PlanError, PlannedItem, items_of
from bitgate.results.shard import Shard, ShardText, ShardTime, split

SCHEMA = 1
KIND = "bitgate run plan"

_DEFAULTS = {"seed": 0, "schedule": "forward"} | {
    field.name: field.default for field in structs.fields(PlannedItem) if field.default is not NODEFAULT
}
_LEFT_OUT = ("target", "why", "pin", "seconds")
"""Fields that the plan around the cases states, or that a merge does not need: a night has 200,000 cases."""


@dataclass(frozen=True)
class RunPlan:
    """The plans of all shards of all targets; a target that is not split has the one shard ``1/1``."""

    tier: str
    shards: tuple[Plan, ...]
    commit: str = ""
    created: str = ""

    @cached_property
    def id(self) -> str:
        """A hash over tier, commit and the keys of each shard of each target: equal for equal work."""
        lines = [f"{self.tier}\n{self.commit}"]
        for plan in sorted(self.shards, key=lambda plan: (plan.target, plan.shard)):
            lines.append(f"{plan.target} {plan.shard} {len(plan.cases)}")
            lines += sorted(json.dumps([item.id, *map(str, item.key.values)]) for item in plan.cases)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(plan.target for plan in self.shards))

    def of(self, target: str) -> tuple[Plan, ...]:
        return tuple(plan for plan in self.shards if plan.target == target)

    def shard(self, target: str, shard: Shard) -> Plan | None:
        return next((plan for plan in self.of(target) if plan.shard == str(shard)), None)

    def write(self, path: Path) -> None:
        """Write the plan in one move: the whole file, or none of it."""
        document = {
            "schema": SCHEMA,
            "kind": KIND,
            "id": self.id,
            "tier": self.tier,
            "commit": self.commit,
            "created": self.created,
            "shards": [
                {
                    "target": plan.target,
                    "shard": plan.shard,
                    "id": plan.id,
                    "length": asdict(plan.length) if plan.length else None,
                    "cases": [*map(_brief, plan.cases)],
                }
                for plan in self.shards
            ],
        }
        write_whole(path, json.dumps(document, separators=(",", ":")) + "\n")

    @classmethod
    def read(cls, path: Path) -> RunPlan:
        """Read a run plan. PlanError names the file and what is wrong in it."""
        try:
            return _read(parse_json(read_bytes(path)))
        except (InvalidInput, PlanError, UsageError) as error:
            raise PlanError(f"{path}: {error}; write it with `bitgate ci plan`") from None


def make(
    tier: str,
    plans: Iterable[Plan],
    counts: Mapping[str, int],
    commit: str = "",
    length: Callable[[str, Iterable[PlannedItem]], ShardTime] | None = None,
) -> RunPlan:
    """Split the plans of whole targets into their shards; ``length`` estimates the time of a target's cases."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    shards = tuple(
        Plan(
            plan.tier,
            plan.target,
            cases,
            now,
            f"{number}/{counts.get(plan.target, 1)}",
            length=length(plan.target, cases) if length else None,
        )
        for plan in plans
        for number, cases in enumerate(split(plan.cases, counts.get(plan.target, 1)), 1)
    )
    whole = RunPlan(tier, shards, commit, now)
    return replace(whole, shards=tuple(replace(plan, whole=whole.id) for plan in shards))


def whole_id(tier: str, target: str, parts: Iterable[Iterable[PlannedItem]]) -> str:
    """Return the hash that all shards of one target state if no file plans them."""
    cases = [tuple(part) for part in parts]
    plans = (Plan(tier, target, part, "", f"{number}/{len(cases)}") for number, part in enumerate(cases, 1))
    return RunPlan(tier, tuple(plans)).id


class _LengthShape(Struct):
    seconds: Seconds
    late: Seconds
    longest: Seconds


class _ShardShape(Struct):
    target: Name
    shard: ShardText
    id: Short
    cases: list[dict[str, Any]]
    length: _LengthShape | None = None


class _RunShape(Struct):
    schema: int
    kind: str
    id: Short
    tier: Short
    commit: Short
    created: Short
    shards: list[_ShardShape]


def _read(document: Any) -> RunPlan:
    shape = shaped(_RunShape, document)
    if shape.kind != KIND or shape.schema != SCHEMA:
        raise InvalidInput(f"'{shape.kind:.40}' of schema {shape.schema}: this bitgate reads '{KIND}' of {SCHEMA}")
    plans = []
    for shard in shape.shards:
        Shard.parse(shard.shard)
        cases = tuple(map(_node, items_of({**case, "target": shard.target} for case in shard.cases)))
        length = ShardTime(**structs.asdict(shard.length)) if shard.length else None
        plan = Plan(shape.tier, shard.target, cases, shape.created, shard.shard, shape.id, length)
        if plan.id != shard.id:
            raise InvalidInput(f"{shard.target} {shard.shard}: its id is not that of its cases: edited, or cut short")
        plans.append(plan)
    found = RunPlan(shape.tier, tuple(plans), shape.commit, shape.created)
    if found.id != shape.id:
        raise InvalidInput("its id is not that of its shards: edited, or cut short")
    _check_whole(found)
    return found


def _check_whole(plan: RunPlan) -> None:
    """Raise InvalidInput unless the plan has every shard of every target once, and every case in one of them."""
    if not plan.shards:
        raise InvalidInput("plans nothing")
    for target in plan.targets:
        named = [Shard.parse(part.shard) for part in plan.of(target)]
        if sorted(shard.index for shard in named) != [*range(1, len(named) + 1)] or {s.count for s in named} != {
            len(named)
        }:
            raise InvalidInput(f"{target}: its shards are {', '.join(map(str, named))}")
        ids = [item.id for part in plan.of(target) for item in part.cases]
        if len(set(ids)) != len(ids):
            raise InvalidInput(f"{target}: a case is planned twice")


def _brief(item: PlannedItem) -> dict[str, Any]:
    """Return the fields of a case without defaults, and its test ``<node>[<id>]`` without the id."""
    fields = item.fields() | {"test": item.test.removesuffix(f"[{item.id}]")}
    kept = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    return {name: value for name, value in kept.items() if value not in (_DEFAULTS.get(name), {}, "")}


def _node(item: PlannedItem) -> PlannedItem:
    """Return the item with the whole node id of its test."""
    return structs.replace(item, test=f"{item.test}[{item.id}]") if item.test else item
