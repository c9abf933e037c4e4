"""The plan of a run: what is to be verified, written before the first case so that a lost case is noticed.

Reports and merges read plans on machines without numpy or HIP.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import InvalidInput, Name, NameOrNone, Seconds, Short, Text, parse_json, read_bytes, shaped
from bitgate.results.record.identity import FIELDS, Key, stated
from bitgate.results.shard import ShardText, ShardTime

SCHEMA = 1


_IN_KEY = frozenset(FIELDS)


class PlanError(UsageError):
    """A plan file that cannot be read; the message names the file and what is wrong in it."""


class PlannedItem(Struct, frozen=True, forbid_unknown_fields=True):
    """One planned verdict: its key, where it comes from, why it is planned, and how long it should take.

    A file holds the fields of the key among the others.
    """

    id: Name
    """``<case>__<instance>__<fill>``, unique in the plan."""
    key: Key
    tier: Short = ""
    """The smallest tier that contains the case: ``smoke``, else ``regression``."""
    suite: NameOrNone = ""
    test: Text = ""
    """The pytest node id; empty in a plan that was made without collecting tests."""
    why: Text = ""
    pin: Text = ""
    """The fixed bug that the case guards, if it guards one."""
    human: Text = ""
    refused: Text = ""
    """The clause by which the kernel must refuse the case; empty: it must pass."""
    seconds: Seconds = 0.0
    """Estimated duration."""
    row: Text = ""
    """``file:line`` of the table's row that asks for the case."""

    def fields(self) -> dict[str, Any]:
        """Return the item as a file states it."""
        rest = asdict(self)
        return {"id": rest.pop("id"), **rest.pop("key").fields(), **rest}

    @classmethod
    def of(cls, flat: Mapping[str, Any]) -> PlannedItem:
        """Read an item of a file; options, seed and schedule may be left out. InvalidInput if it is not one."""
        key = {"seed": 0, "schedule": "forward", **stated(flat)}
        return shaped(cls, {name: value for name, value in flat.items() if name not in _IN_KEY} | {"key": key})


@dataclass(frozen=True)
class Plan:
    """The cases of one run on one target, in the order in which they are to run."""

    tier: str
    target: str
    cases: tuple[PlannedItem, ...]
    created: str = ""
    """ISO 8601 with zone."""
    shard: str = ""
    """The shard whose cases these are, as in ``2/6``; empty: the whole target."""
    whole: str = ""
    """The hash of the run plan that a shard is a part of."""
    length: ShardTime | None = None
    """How long a shard of a run plan takes, by the durations on record when it was planned."""

    @cached_property
    def id(self) -> str:
        """The sha256 over the sorted ids and the target: equal for equal work, whatever the order or the estimates."""
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
            "cases": [item.fields() for item in self.cases],
        }

    @classmethod
    def from_json(cls, document: Any) -> Plan:
        """Read a plan. PlanError if a key is missing, unknown or of the wrong type, or the id is not of the cases."""
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise PlanError(f"schema {schema!r:.40} is not {SCHEMA}: no plan, or written by another version of bitgate")
        try:
            shape = shaped(_PlanShape, document)
            cases = items_of(shape.cases)
        except InvalidInput as error:
            raise PlanError(f"not a plan: {error}") from None
        plan = cls(shape.tier, shape.target, cases, shape.created, shape.shard, shape.whole)
        if shape.id != plan.id:
            raise PlanError(f"its id {shape.id:.80} is not that of its cases: edited by hand, or cut short")
        return plan

    @property
    def text(self) -> str:
        """The content of the plan's file, a line for each case."""
        head = self.to_json()
        cases = ",\n".join(map(json.dumps, head.pop("cases")))
        return f'{json.dumps(head)[:-1]}, "cases": [\n{cases}\n]}}\n'

    def write(self, path: Path) -> None:
        """Write the whole file or none of it."""
        write_whole(path, self.text)

    @classmethod
    def read(cls, path: Path) -> Plan:
        try:
            return cls.from_json(parse_json(read_bytes(path)))
        except (PlanError, InvalidInput) as error:
            raise PlanError(f"{path}: {error}") from None


def items_of(cases: Iterable[Mapping[str, Any]]) -> tuple[PlannedItem, ...]:
    """Return the cases of a file. InvalidInput names a bad one by its number, from 0."""
    found: list[PlannedItem] = []
    for case in cases:
        try:
            found.append(PlannedItem.of(case))
        except InvalidInput as error:
            raise InvalidInput(f"case {len(found)}: {error}") from None
    return tuple(found)


class _PlanShape(Struct):
    schema: int
    id: Short
    tier: Short
    target: Name
    cases: list[dict[str, Any]]
    created: Short = ""
    shard: ShardText = ""
    whole: Short = ""


def repeated(ids: Iterable[str]) -> list[str]:
    """Return the ids that occur more than once, sorted."""
    seen: set[str] = set()
    twice: set[str] = set()
    for one in ids:
        (twice if one in seen else seen).add(one)
    return sorted(twice)
