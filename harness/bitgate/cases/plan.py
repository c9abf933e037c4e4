"""The plan of a run: what was to be verified, written before the first case so that a lost one can be told.

Reports and merges read plans on machines without numpy or HIP.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from bitgate.cases.shard import ShardText
from bitgate.outside import Count, Name, NameOrNone, OddInput, Seconds, Short, Text, parse_json, read_bytes, shaped
from bitgate.record.verdict import Key

SCHEMA = 1


class PlanError(ValueError):
    """A plan file that cannot be read; the message names the file and what is wrong in it."""


@dataclass(frozen=True)
class PlannedItem:
    """One verdict to be had: the key's fields, where it comes from, why it is there, and how long it should take."""

    id: str
    """``<case>__<instance>__<fill>``, unique in the plan."""
    case: str
    kernel: str
    instance: str
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str
    target: str
    tier: str
    """The smallest tier that holds it: ``smoke``, else ``regression``."""
    suite: str
    test: str = ""
    """pytest node id, empty in a plan that was made without collecting tests."""
    why: str = ""
    pin: str = ""
    """The fixed bug that the case guards, if it guards one."""
    human: str = ""
    refused: str = ""
    """The clause by which the kernel must refuse it; empty: it must pass."""
    seconds: float = 0.0
    """Estimated."""
    row: str = ""
    """``file:line`` of the table's row that asks for it."""

    @property
    def key(self) -> Key:
        return Key(
            case=self.case,
            kernel=self.kernel,
            instance=self.instance,
            options=self.options,
            fill=self.fill,
            seed=self.seed,
            schedule=self.schedule,
            target=self.target,
        )


@dataclass(frozen=True)
class Plan:
    """The cases of one run on one target, in the order in which they are to run."""

    tier: str
    target: str
    cases: tuple[PlannedItem, ...]
    created: str = ""
    """ISO 8601 with zone."""
    shard: str = ""
    """``2/6``: these are the cases of the second of six shards; empty: of the whole target."""
    whole: str = ""
    """Of a shard: the hash of the plan that it is a part of."""

    @cached_property
    def id(self) -> str:
        """sha256 over the sorted ids and the target: equal for equal work, whatever the order or the estimates."""
        text = "\n".join([self.target, *sorted(item.id for item in self.cases)])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def seconds(self) -> float:
        return sum(item.seconds for item in self.cases)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "id": self.id,
            "tier": self.tier,
            "target": self.target,
            "created": self.created,
            "shard": self.shard,
            "whole": self.whole,
            "seconds": round(self.seconds, 3),
            "cases": [{**asdict(item), "options": dict(item.options)} for item in self.cases],
        }

    @classmethod
    def from_json(cls, document: Any) -> Plan:
        """Raises PlanError if a key is missing, unknown or of the wrong type, or the id is not the cases' own."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise PlanError(f"schema {schema!r:.40} is not {SCHEMA}: no plan, or written by another version of bitgate")
        try:
            shape = shaped(_PlanShape, document)
        except OddInput as error:
            raise PlanError(f"not a plan: {error}") from None
        cases = tuple(case.item() for case in shape.cases)
        plan = cls(shape.tier, shape.target, cases, shape.created, shape.shard, shape.whole)
        if shape.id != plan.id:
            raise PlanError(f"its id {shape.id:.80} is not that of its cases: edited by hand, or cut short")
        return plan

    def write(self, path: Path) -> None:
        """Write the whole file or none of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(self.to_json(), indent=1) + "\n")
        draft.replace(path)

    @classmethod
    def read(cls, path: Path) -> Plan:
        try:
            return cls.from_json(parse_json(read_bytes(path)))
        except (PlanError, OddInput) as error:
            raise PlanError(f"{path}: {error}") from None


class ItemShape(Struct, forbid_unknown_fields=True):
    """A planned case as a file states it."""

    id: Name
    case: Name
    kernel: Name
    instance: Name
    fill: Name
    target: Name
    suite: NameOrNone
    options: dict[Short, Short] = {}
    seed: Count = 0
    schedule: Short = "forward"
    tier: Short = ""
    test: Text = ""
    why: Text = ""
    pin: Text = ""
    human: Text = ""
    refused: Text = ""
    row: Text = ""
    seconds: Seconds = 0.0

    def item(self) -> PlannedItem:
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return PlannedItem(**{**fields, "options": tuple(sorted(self.options.items()))})


class _PlanShape(Struct):
    schema: int
    id: Short
    tier: Short
    target: Name
    cases: list[ItemShape]
    created: Short = ""
    shard: ShardText = ""
    whole: Short = ""


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that stand more than once, sorted."""
    seen: set[str] = set()
    twice: set[str] = set()
    for one in ids:
        (twice if one in seen else seen).add(one)
    return sorted(twice)
