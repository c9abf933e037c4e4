"""The plan of a run: what was to be verified, written before the first case so that a lost one can be told.

Standard library only, like the record: reports and merges read plans on machines without numpy or HIP.
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
            "seconds": round(self.seconds, 3),
            "cases": [{**asdict(item), "options": dict(item.options)} for item in self.cases],
        }

    @classmethod
    def from_json(cls, document: Any) -> Plan:
        """Raises PlanError if a key is missing, unknown or of the wrong type, or the id is not the cases' own."""
        try:
            if document["schema"] != SCHEMA:
                raise PlanError(f"schema {document['schema']} is not {SCHEMA}: written by another version of bitgate")
            cases = tuple(_item(case) for case in document["cases"])
            plan = cls(document["tier"], document["target"], cases, document.get("created", ""))
        except (KeyError, TypeError, AttributeError) as error:
            raise PlanError(f"not a plan: {type(error).__name__}: {error}") from None
        if document.get("id") != plan.id:
            raise PlanError(f"its id {document.get('id')} is not that of its cases: edited by hand, or cut short")
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
            return cls.from_json(json.loads(path.read_text()))
        except (PlanError, json.JSONDecodeError) as error:
            raise PlanError(f"{path}: {error}") from None


def _item(case: dict[str, Any]) -> PlannedItem:
    return PlannedItem(**{**case, "options": tuple(sorted(case["options"].items()))})


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that stand more than once, sorted."""
    seen: set[str] = set()
    twice: set[str] = set()
    for one in ids:
        (twice if one in seen else seen).add(one)
    return sorted(twice)
