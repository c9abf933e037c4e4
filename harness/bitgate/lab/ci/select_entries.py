"""Changed entries of a file: rows of a case table, lines of a list, stored digests, known bugs, recorded durations.

A file whose former text is unknown, or that cannot be read in either form, counts as changed in all its entries: ALL.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from bitgate.core.toml import parse_toml
from bitgate.lab.ci.select_changes import FileChange
from bitgate.suite.solved_list import LINES, is_list, said_in


class Whole(Enum):
    """A mark that all entries changed."""

    ALL = "all of it"


ALL = Whole.ALL

SAID_ONLY = ("name", "why", "pin")
"""Fields of a row for people, on which no verdict depends."""


def rows(change: FileChange) -> frozenset[tuple[str, int]] | Whole:
    """Return set and number, from 1, of each new or changed row; a row includes the defaults unless it includes
    others. The lines of a solved list are of the set LINES."""
    if is_list(change.path):
        return _lines(change)
    then, now = _toml(change.before), _toml(change.now)
    if now is None and then is not None:
        return frozenset()
    if then is None or now is None or _loads(then) != _loads(now):
        return ALL
    known = {name: {text for _, text in _rows(then, name)} for name in _sets(then)}
    return frozenset(
        (name, number) for name in _sets(now) for number, text in _rows(now, name) if text not in known.get(name, ())
    )


def _lines(change: FileChange) -> frozenset[tuple[str, int]] | Whole:
    if change.now is None:
        return frozenset()
    if change.before is None:
        return ALL
    known = {said_in(line) for line in _text(change.before)}
    return frozenset((LINES, number) for number, line in enumerate(_text(change.now), 1) if said_in(line) not in known)


def _text(data: bytes) -> list[str]:
    return data.decode(errors="replace").splitlines()


def digests(change: FileChange) -> frozenset[str] | Whole:
    """Return the cases whose stored digest is changed, new, or gone."""
    then, now = _json(change.before), _json(change.now)
    if then is None and now is None:
        return ALL
    if then is not None and now is not None and then.get("generator") != now.get("generator"):
        return ALL
    changed = _changed((then or {}).get("digests"), (now or {}).get("digests"))
    return changed if changed is ALL else frozenset(key.partition(" ")[0] for key in changed)


def known_bugs(change: FileChange) -> frozenset[str] | Whole:
    """Return the globs over ``family.instance`` of each entry that is changed, new, or gone."""
    before, after = _entries(change.before), _entries(change.now)
    if before is ALL or after is ALL:
        return ALL
    then, now = ({json.dumps(one, sort_keys=True, default=str): one for one in found} for found in (before, after))
    globs: set[str] = set()
    for text in {*then} ^ {*now}:
        stated = {**then, **now}[text].get("kernel")
        if not stated or not isinstance(stated, (str, list)):
            return ALL
        globs |= {stated} if isinstance(stated, str) else set(map(str, stated))
    return frozenset(globs)


def durations(change: FileChange) -> tuple[frozenset[str], frozenset[str]] | Whole:
    """Return the names of the cases, and the families, whose seconds on some machine differ."""
    machines = [(found or {}).get("machines", {}) for found in (_json(change.before), _json(change.now))]
    if not all(isinstance(found, dict) and all(isinstance(one, dict) for one in found.values()) for found in machines):
        return ALL
    then, now = machines
    names: dict[str, set[str]] = {"seconds": set(), "paces": set()}
    for machine in {*then, *now}:
        for kind, found in names.items():
            changed = _changed(then.get(machine, {}).get(kind), now.get(machine, {}).get(kind))
            if changed is ALL:
                return ALL
            found |= changed
    return frozenset(names["seconds"]), frozenset(names["paces"])


def _changed(then: Any, now: Any) -> frozenset[str] | Whole:
    before, after = then or {}, now or {}
    if not isinstance(before, dict) or not isinstance(after, dict):
        return ALL
    return frozenset(key for key in {*before, *after} if before.get(key) != after.get(key))


def _sets(document: Mapping[str, Any]) -> Iterable[str]:
    return (name for name, held in document.items() if isinstance(held, list) and name != "load")


def _rows(document: Mapping[str, Any], name: str) -> Iterable[tuple[int, str]]:
    defaults = document.get("defaults", {})
    for number, row in enumerate(document[name], 1):
        whole = row if "include" in row else {**defaults, **row}
        fields = {key: value for key, value in whole.items() if key not in (*SAID_ONLY, "load")}
        yield number, json.dumps(fields, sort_keys=True, default=str)


def _loads(document: Mapping[str, Any]) -> list[Any]:
    return [document.get("load"), document.get("defaults", {}).get("load")]


def _entries(data: bytes | None) -> list[dict[str, Any]] | Whole:
    """Return the entries of a ledger: none if there is no file."""
    document = _toml(data)
    found = [] if data is None else (document or {}).get("known_bug")
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        return ALL
    return found


def _toml(data: bytes | None) -> dict[str, Any] | None:
    """Parse TOML; None for a missing file, or what is neither a case table nor a ledger."""
    try:
        document = parse_toml(data.decode()) if data is not None else None
    except ValueError:
        return None
    if document is None:
        return None
    rows = [row for name in _sets(document) for row in document[name]]
    return document if all(isinstance(table, dict) for table in (document.get("defaults", {}), *rows)) else None


def _json(data: bytes | None) -> dict[str, Any] | None:
    try:
        document = json.loads(data) if data is not None else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
