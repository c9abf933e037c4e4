"""Fields of an entry of a ledger of known bugs, and their checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.git import path_in_checkout
from bitgate.core.table_fields import (
    Check,
    FieldError,
    TableFields,
    are_tables,
    day,
    each,
    one_of,
    options,
    table,
    text,
)
from bitgate.core.targets import ARCHITECTURES, target_id
from bitgate.core.toml import read_toml, row_lines
from bitgate.model import Problem, ProblemError, case_id, operations, parse_case_id
from bitgate.model.dtype import spelled
from bitgate.model.space.problem_property import Property, PropertyKind
from bitgate.numerics.fill import fill_names
from bitgate.results.record import KINDS, Outcome
from bitgate.suite.row import near
from bitgate.suite.vocabulary import properties, value_of

SECTION = "known_bug"
FAILURES = tuple(outcome for outcome in Outcome if outcome.is_kernels)
"""Verdicts that a bug of a kernel may have. A lost case or device is none."""
DIAGNOSED = (Outcome.MISMATCH, Outcome.NONDETERMINISTIC)
"""Verdicts that say nothing without a diagnosis."""
QUARANTINE_DAYS = 30
"""For a case that fails now and then. A bug that must fail each time hides nothing else, and may take longer."""


@dataclass(frozen=True)
class PropertyMatch:
    """A property of a problem, and the values that an entry is about. No problem without the property matches."""

    name: str
    values: tuple[Any, ...] = ()
    least: int | None = None
    most: int | None = None

    def fits(self, problem: Problem) -> bool:
        value: Any = problem.operation.name if self.name == PASS else value_of(problem, self.name)
        if value is None:
            return False
        if self.values:
            return value in self.values
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


PASS = "pass"
"""The operation, in the word of case tables."""


def where() -> Mapping[str, Property]:
    """Return the properties that an entry may name, by name."""
    return {**properties(), PASS: Property(lambda problem: None, PropertyKind.NAME, tuple(operations()))}


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the checked fields of each entry; none where there is no file. Raises UsageError naming file, line and
    field."""
    if not path.exists():
        return []
    document, written = read_toml(path)
    for name, rows in document.items():
        if name != SECTION or not are_tables(rows):
            raise UsageError(f"{path}: '{name}': write [[{SECTION}]] above each entry, and nothing else")
    rows = document.get(SECTION, [])
    return [_entry(row, path, line) for row, line in zip(rows, row_lines(written, SECTION, len(rows)), strict=True)]


def _entry(row: Mapping[str, Any], path: Path, line: int) -> dict[str, Any]:
    origin = f"{path}:{line}: [[{SECTION}]]"
    checked = _FIELDS.read(origin, row)
    if "where" not in row and "case" not in row:
        raise FieldError(origin, "where", "is missing; say which problems fail: where = { pass = 'bwd_data', g = 1 }")
    fields: dict[str, Any] = {"origin": f"{path_in_checkout(path)}:{line}", "kind": ""}
    fields |= {_PLURALS.get(name, name): value for name, value in checked.items()}
    if fields["verdict"] in DIAGNOSED and not fields["kind"]:
        known = ", ".join(KINDS)
        raise FieldError(origin, "kind", f"is missing; say as what a {fields['verdict']} is diagnosed: {known}")
    _check_quarantine(fields, origin)
    return fields


def _check_quarantine(fields: dict[str, Any], origin: str) -> None:
    since = fields.pop("since", None)
    if ("flaky" in fields) != (since is not None):
        lacking, there = ("since", "flaky") if since is None else ("flaky", "since")
        raise FieldError(origin, lacking, f"is missing next to {there}; {_QUARANTINE[lacking]}")
    if since is None:
        return
    days = (fields["expires"] - since).days
    if not 0 <= days <= QUARANTINE_DAYS:
        said = f"{fields['expires']} is {days} days after since"
        raise FieldError(origin, "expires", f"{said}: a flaky case is quarantined for {QUARANTINE_DAYS} days at most")


_QUARANTINE = {
    "flaky": "what shows that it fails now and then only, such as '7 of 60 nights, on node4 alone'",
    "since": f"the day of that finding: expires is at most {QUARANTINE_DAYS} days later",
}
_PLURALS = {"kernel": "kernels", "target": "targets", "machine": "machines", "case": "cases", "fill": "fills"}


# ---------------------------------------------------------------------------------------- what a field may hold


def _glob(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r:.80} is neither a text nor a list of texts")
    return value


def _target(value: Any) -> str:
    glob = _glob(value)
    if re.search(r"[*?\[]", glob):
        return glob
    try:
        return target_id(glob).name
    except UsageError:
        raise ValueError(f"no target is called '{glob}'; {near(glob, ARCHITECTURES)}") from None


def _case(value: Any) -> str:
    try:
        return case_id(parse_case_id(_glob(value)))
    except ProblemError as error:
        raise ValueError(str(error)) from None


def _where(value: Any) -> dict[str, PropertyMatch]:
    stated = table("{ pass = 'bwd_data', g = 1, gemms_count = { min = 2 } }")(value)
    return {name: _wanted(name, values) for name, values in stated.items()}


def _wanted(name: str, value: Any) -> PropertyMatch:
    if (said := where().get(name)) is None:
        known = [other for kind in PropertyKind for other, one in where().items() if one.kind is kind]
        raise ValueError(f"{name}: no such property of a problem; {near(name, known)}")
    if said.kind is PropertyKind.NUMBER and isinstance(value, dict):
        if not value or set(value) - {"min", "max"} or not all(type(end) is int for end in value.values()):
            raise ValueError(f"{name}: a range is {{ min = 2 }}, {{ max = 8 }} or both")
        return PropertyMatch(name, least=value.get("min"), most=value.get("max"))
    values = tuple(value) if isinstance(value, list) else (value,)
    if not values:
        raise ValueError(f"{name}: is an empty list")
    return PropertyMatch(name, tuple(_VALUES[said.kind](name, one) for one in values))


def _typed(kind: type, words: str) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{name}: {value!r} is not {words}")
        return value

    return check


def _named(name: str, value: Any) -> str:
    names = where()[name].names
    if value not in names:
        raise ValueError(f"{name}: {value!r} is not known; {near(str(value), names)}")
    return str(value)


def _lengths(name: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+(x\d+)*", value):
        raise ValueError(f"{name}: {value!r} is not like '3x3'")
    return value


def _dtypes(name: str, value: Any) -> str:
    try:
        return spelled(value)
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{name}: {value!r}: {error}") from None


_VALUES: Mapping[PropertyKind, Callable[[str, Any], Any]] = {
    PropertyKind.NUMBER: _typed(int, "a number"),
    PropertyKind.FLAG: _typed(bool, "true or false"),
    PropertyKind.NAME: _named,
    PropertyKind.LENGTHS: _lengths,
    PropertyKind.DTYPES: _dtypes,
}

_CHECKS: dict[str, Check] = {
    "where": _where,
    "case": lambda value: frozenset(each(_case)(value)),
    "kernel": each(_glob),
    "target": each(_target),
    "options": options,
    "fill": lambda value: each(one_of(*fill_names()))(value),
    "verdict": lambda value: Outcome(one_of(*FAILURES)(value)),
    "kind": one_of(*KINDS),
    "owner": text,
    "ticket": text,
    "expires": day,
    "flaky": text,
    "since": day,
    "machine": each(_glob),
}
_FIELDS = TableFields(
    _CHECKS,
    {
        "kernel": "a glob over family.instance",
        "target": "where it fails: host, gfx942, gfx9*, or a list",
        "verdict": f"how it fails: {', '.join(FAILURES)}",
        "owner": "who fixes it",
        "ticket": "where it is written down",
        "expires": "until when it may fail, a date such as 2030-01-31",
    },
)
