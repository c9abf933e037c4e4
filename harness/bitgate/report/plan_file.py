"""``plan.json`` as a report reads it: what a run set out to do, so that what is missing can be told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.errors import UsageError
from bitgate.record import Key

SCHEMA = 1


@dataclass(frozen=True)
class PlannedEntry:
    """One planned verdict: its key, and the test that was to ask for it."""

    key: Key
    suite: str = ""
    test: str = ""
    human: str = ""


@dataclass(frozen=True)
class PlanFile:
    """A whole plan: ``id`` is the hash that every result of it repeats."""

    id: str
    tier: str
    target: str
    entries: tuple[PlannedEntry, ...]


def read_plan(path: Path) -> PlanFile | None:
    """The plan at ``path``; None if there is none. UsageError names the file and what is wrong in it."""
    if not path.is_file():
        return None
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
        if document["schema"] != SCHEMA:
            raise UsageError(
                f"{path}: schema {document['schema']} is not {SCHEMA}: written by another version of bitgate"
            )
        return PlanFile(
            id=document["id"],
            tier=document["tier"],
            target=document["target"],
            entries=tuple(_entry(case) for case in document["cases"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not a plan: {type(error).__name__}: {error}") from None


def _entry(case: dict[str, Any]) -> PlannedEntry:
    key = Key(
        case=case["case"],
        kernel=case["kernel"],
        instance=case["instance"],
        options=tuple(sorted(case["options"].items())),
        fill=case["fill"],
        seed=case["seed"],
        schedule=case["schedule"],
        target=case["target"],
    )
    return PlannedEntry(key, case.get("suite", ""), case.get("test", ""), case.get("human", ""))
