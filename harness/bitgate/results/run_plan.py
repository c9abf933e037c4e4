"""The plan of a run over many targets and shards: every case that must have a verdict, and one hash over all of it.

Its file is one JSON document with a line for what is known of all shards, and one for the cases of each. A reader
takes the lines that it needs: a night has a million cases, a machine runs a shard of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from msgspec import NODEFAULT, Struct, structs

from bitgate.core.errors import UsageError
from bitgate.core.files import replacing
from bitgate.core.untrusted import (
    LONGEST_FILE,
    Count,
    InvalidInput,
    Name,
    Short,
    parse_json,
    shaped,
)
from bitgate.results.plan import Plan, PlanError, PlannedItem, items_of
from bitgate.results.shard import Shard, ShardText, ShardTime, split

SCHEMA = 2
KIND = "bitgate run plan"
LONGEST_HEADER = 16 << 20

_DEFAULTS = {"seed": 0, "schedule": "forward"} | {
    field.name: field.default for field in structs.fields(PlannedItem) if field.default is not NODEFAULT
}
_LEFT_OUT = ("target", "why", "pin", "seconds")
"""Fields that the plan around the cases states, or that a merge does not need."""


class PlanPart(Struct, frozen=True):
    """A shard without its cases: ``id`` is its plan's, ``keys`` a hash over their ids and keys."""

    target: Name
    shard: ShardText
    id: Short
    keys: Short
    cases: Count
    length: ShardTime | None = None
    size: Count = 0
    """Bytes of its line in the file."""

    @classmethod
    def of(cls, plan: Plan) -> PlanPart:
        lines = sorted(json.dumps([item.id, *map(str, item.key.values)]) for item in plan.cases)
        keys = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        return cls(plan.target, plan.shard, plan.id, keys, len(plan.cases), plan.length)


@dataclass(frozen=True)
class RunPlan:
    """The plans of all shards of all targets; a target that is not split has the one shard ``1/1``.

    ``shards`` of a plan that was read come from its file, one by one, whenever they are asked for. ``part_of`` is the
    id of the plan that this one is a part of, as far as a reader needs it.
    """

    tier: str
    shards: Sequence[Plan]
    commit: str = ""
    created: str = ""
    part_of: str = field(default="", compare=False)

    @cached_property
    def parts(self) -> tuple[PlanPart, ...]:
        """The shards without their cases, in their order."""
        return self.shards.parts if isinstance(self.shards, _ShardsOfFile) else tuple(map(PlanPart.of, self.shards))

    @cached_property
    def id(self) -> str:
        """A hash over tier, commit and the keys of each shard of each target: equal for equal work."""
        if self.part_of:
            return self.part_of
        parts = sorted((part.target, part.shard, part.cases, part.keys) for part in self.parts)
        lines = [f"{self.tier}\n{self.commit}", *(" ".join(map(str, part)) for part in parts)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.target for part in self.parts))

    def of(self, target: str) -> Iterator[Plan]:
        """Yield the plans of a target's shards."""
        return (self.shards[number] for number, part in enumerate(self.parts) if part.target == target)

    def shard(self, target: str, shard: Shard) -> Plan | None:
        places = (number for number, part in enumerate(self.parts) if (part.target, part.shard) == (target, str(shard)))
        return next((self.shards[number] for number in places), None)

    def with_only(self, numbers: Iterable[int]) -> RunPlan:
        """Return the part of the plan that has the shards of these places."""
        return RunPlan(self.tier, tuple(self.shards[number] for number in numbers), self.commit, self.created, self.id)

    def write(self, path: Path) -> None:
        """Write the plan in one move: the whole file, or none of it."""
        lines = [json.dumps([*map(_brief, plan.cases)], separators=(",", ":")).encode() for plan in self.shards]
        parts = [structs.replace(part, size=len(line)) for part, line in zip(self.parts, lines, strict=True)]
        head = {
            "schema": SCHEMA,
            "kind": KIND,
            "id": self.id,
            "tier": self.tier,
            "commit": self.commit,
            "created": self.created,
            "parts": [structs.asdict(part) | {"length": part.length and asdict(part.length)} for part in parts],
        }
        with replacing(path) as draft, draft.open("wb") as file:
            file.write(json.dumps(head, separators=(",", ":")).encode()[:-1] + b',"shards":[\n')
            for number, line in enumerate(lines):
                file.write(b",\n" * bool(number) + line)
            file.write(b"\n]}\n")

    @classmethod
    def read(cls, path: Path, *, may_be_empty: bool = False) -> RunPlan:
        """Read a run plan, and its shards when they are asked for. PlanError names the file and what is wrong in it.

        A change that can turn nothing red has an empty plan, which no run takes.
        """
        with _naming(path):
            shape, start = _header(path)
            shards = _ShardsOfFile(path, start, shape)
            found = cls(shape.tier, shards, shape.commit, shape.created)
            if found.id != shape.id:
                raise InvalidInput("its id is not that of its shards: edited, or cut short")
            if found.parts or not may_be_empty:
                _check_whole(found)
        return found


class _ShardsOfFile(Sequence[Plan]):
    """The shards of a file, each read when it is asked for."""

    def __init__(self, path: Path, start: int, shape: _RunShape) -> None:
        self.parts = tuple(shape.parts)
        self._path, self._shape = path, shape
        self._places: list[int] = []
        self._checked: set[int] = set()
        for part in self.parts:
            self._places.append(start)
            start += part.size + 2
        if path.stat().st_size != (start - 2 if self.parts else start) + len(b"\n]}\n"):
            raise InvalidInput("it has not the size that its first line says: edited, or cut short")

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, number: int) -> Plan: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Plan]: ...
    def __getitem__(self, number: int | slice) -> Plan | Sequence[Plan]:
        if isinstance(number, slice):
            return [self._plan(one) for one in range(*number.indices(len(self)))]
        return self._plan(range(len(self))[number])

    def _plan(self, number: int) -> Plan:
        part, shape = self.parts[number], self._shape
        with _naming(self._path):
            data = _slice(self._path, self._places[number], part.size)
            briefs = shaped(_CASES, parse_json(data))
            cases = tuple(map(_node, items_of({**case, "target": part.target} for case in briefs)))
            plan = Plan(shape.tier, part.target, cases, shape.created, part.shard, shape.id, part.length)
            if number not in self._checked and structs.replace(PlanPart.of(plan), size=part.size) != part:
                raise InvalidInput(f"{part.target} {part.shard}: its id is not that of its cases: edited, or cut short")
            if len({item.id for item in cases}) != len(cases):
                raise InvalidInput(f"{part.target}: a case is planned twice")
            self._checked.add(number)
        return plan


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise PlanError with the file's name for what is wrong in it."""
    try:
        yield
    except PlanError:
        raise
    except (InvalidInput, UsageError) as error:
        raise PlanError(f"{path}: {error}; write it with `bitgate ci plan`") from None
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror or error}") from None


def _header(path: Path) -> tuple[_RunShape, int]:
    """Return what the first line says, and the place of the first shard."""
    if not path.is_file():
        raise InvalidInput("not a file" if path.exists() else "no such file")
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER)
    start = b',"shards":[\n'
    document = parse_json(line[: -len(start)] + b"}" if line.endswith(start) else line)
    shape = shaped(_RunShape, document)
    if shape.kind != KIND or shape.schema != SCHEMA:
        raise InvalidInput(f"'{shape.kind:.40}' of schema {shape.schema}: this bitgate reads '{KIND}' of {SCHEMA}")
    if not line.endswith(start):
        raise InvalidInput("its first line does not end where its shards begin: edited, or cut short")
    return shape, len(line)


def _slice(path: Path, place: int, size: int) -> bytes:
    if size > LONGEST_FILE:
        raise InvalidInput(f"a shard of {size} bytes: at most {LONGEST_FILE} are read")
    with path.open("rb") as file:
        file.seek(place)
        return file.read(size)


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


class _RunShape(Struct):
    schema: int
    kind: str
    id: Short
    tier: Short
    commit: Short
    created: Short
    parts: list[PlanPart] = []


_CASES: Any = list[dict[str, Any]]


def _check_whole(plan: RunPlan) -> None:
    """Raise InvalidInput unless the plan has every shard of every target once."""
    if not plan.parts:
        raise InvalidInput("plans nothing")
    for target in plan.targets:
        named = [Shard.parse(part.shard) for part in plan.parts if part.target == target]
        if sorted(shard.index for shard in named) != [*range(1, len(named) + 1)] or {s.count for s in named} != {
            len(named)
        }:
            raise InvalidInput(f"{target}: its shards are {', '.join(map(str, named))}")


def _brief(item: PlannedItem) -> dict[str, Any]:
    """Return the fields of a case without defaults, and its test ``<node>[<id>]`` without the id."""
    fields = item.fields() | {"test": item.test.removesuffix(f"[{item.id}]")}
    kept = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    return {name: value for name, value in kept.items() if value not in (_DEFAULTS.get(name), {}, "")}


def _node(item: PlannedItem) -> PlannedItem:
    """Return the item with the whole node id of its test."""
    return structs.replace(item, test=f"{item.test}[{item.id}]") if item.test else item
