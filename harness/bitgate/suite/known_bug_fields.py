"""What an entry of a ledger of known bugs may hold, checked field by field."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.git import path_in_checkout
from bitgate.core.targets import ARCHITECTURES, target_id
from bitgate.model import Problem, ProblemError, case_id, operations, parse_case_id
from bitgate.model.space.problem_property import Property, PropertyKind
from bitgate.model.tensor_types import spelled
from bitgate.numerics.fill import fill_names
from bitgate.results.record import KINDS, Outcome
from bitgate.suite.row import near
from bitgate.suite.vocabulary import properties, value_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTION = "known_bug"
FAILURES = tuple(outcome for outcome in Outcome if outcome.is_kernels)
"""Verdicts that a bug of a kernel may have. A lost case or device is none."""
DIAGNOSED = (Outcome.MISMATCH, Outcome.NONDETERMINISTIC)
"""Those that say nothing without a diagnosis."""
QUARANTINE_DAYS = 30
"""For a case that fails now and then. A bug that must fail each time hides nothing else, and may take longer."""


@dataclass(frozen=True)
class PropertyMatch:
    """A property of a problem, and the values that an entry is about. A problem that has no such property is not
    meant."""

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
    """What an entry may name, by name."""
    return {**properties(), PASS: Property(lambda problem: None, PropertyKind.NAME, tuple(operations()))}


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The checked fields of each entry; none where there is no file. Raises UsageError naming file, line and field."""
    try:
        text = path.read_text()
        document = tomllib.loads(text)
    except FileNotFoundError:
        return []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise UsageError(f"{path}: not a ledger of known bugs: {error}") from None
    for name, rows in document.items():
        if name != SECTION or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"{path}: '{name}': write [[{SECTION}]] above each entry, and nothing else")
    headers = re.finditer(rf"^[ \t]*\[\[[ \t]*{SECTION}[ \t]*\]\]", text, re.MULTILINE)
    lines = [text.count("\n", 0, header.start()) + 1 for header in headers]
    rows = document.get(SECTION, [])
    return [_entry(row, path, line) for row, line in zip(rows, lines or [1] * len(rows), strict=False)]


def _entry(row: Mapping[str, Any], path: Path, line: int) -> dict[str, Any]:
    origin = f"{path}:{line}: [[{SECTION}]]"
    for name in row:
        if name not in _CHECKS:
            raise UsageError(f"{origin}: {name}: no such field; {near(name, _CHECKS)}")
    for name in ("kernel", "target", "verdict", "owner", "ticket", "expires"):
        if name not in row:
            raise UsageError(f"{origin}: {name}: is missing; {_WHY[name]}")
    if "where" not in row and "case" not in row:
        raise UsageError(
            f"{origin}: where: is missing; say which problems fail: where = {{ pass = 'bwd_data', g = 1 }}"
        )
    fields: dict[str, Any] = {"origin": f"{path_in_checkout(path)}:{line}", "kind": ""}
    for name, value in row.items():
        try:
            fields[_PLURALS.get(name, name)] = _CHECKS[name](value)
        except ValueError as error:
            raise UsageError(f"{origin}: {name}: {error}") from None
    if fields["verdict"] in DIAGNOSED and not fields["kind"]:
        raise UsageError(
            f"{origin}: kind: is missing; say as what a {fields['verdict']} is diagnosed: {', '.join(KINDS)}"
        )
    _check_quarantine(fields, origin)
    return fields


def _check_quarantine(fields: dict[str, Any], origin: str) -> None:
    since = fields.pop("since", None)
    if ("flaky" in fields) != (since is not None):
        lacking, there = ("since", "flaky") if since is None else ("flaky", "since")
        raise UsageError(f"{origin}: {lacking}: is missing beside {there}; {_WHY[lacking]}")
    if since is None:
        return
    days = (fields["expires"] - since).days
    if not 0 <= days <= QUARANTINE_DAYS:
        raise UsageError(
            f"{origin}: expires: {fields['expires']} is {days} days after since: a flaky case is quarantined for"
            f" {QUARANTINE_DAYS} days at most"
        )


_WHY = {
    "kernel": "a glob over family.instance",
    "target": "where it fails: host, gfx942, gfx9*, or a list",
    "verdict": f"how it fails: {', '.join(FAILURES)}",
    "owner": "who mends it",
    "ticket": "where it is written down",
    "expires": "until when it may fail, a date such as 2030-01-31",
    "flaky": "what shows that it fails now and then only, such as '7 of 60 nights, on node4 alone'",
    "since": f"the day of that finding: expires is at most {QUARANTINE_DAYS} days later",
}
_PLURALS = {"kernel": "kernels", "target": "targets", "machine": "machines", "case": "cases", "fill": "fills"}


# ---------------------------------------------------------------------------------------- what a field may hold


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) and item.strip() for item in items):
        raise ValueError(f"{value!r} is neither a text nor a list of texts")
    return tuple(items)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is no text")
    return " ".join(value.split())


def _targets(value: Any) -> tuple[str, ...]:
    return tuple(item if re.search(r"[*?\[]", item) else _target(item) for item in _texts(value))


def _target(text: str) -> str:
    try:
        return target_id(text).name
    except UsageError:
        raise ValueError(f"no target is called '{text}'; {near(text, ARCHITECTURES)}") from None


def _verdict(value: Any) -> Outcome:
    if value not in [one.value for one in FAILURES]:
        raise ValueError(f"{value!r} is no failure of a kernel; known are {', '.join(FAILURES)}")
    return Outcome(value)


def _one_of(known: Iterable[str]) -> Callable[[Any], str]:
    names = tuple(known)

    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(f"{value!r} is not known; {near(str(value), names)}")
        return str(value)

    return check


def _date(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value} is no date such as 2030-01-31") from None


def _cases(value: Any) -> frozenset[str]:
    try:
        return frozenset(case_id(parse_case_id(text)) for text in _texts(value))
    except ProblemError as error:
        raise ValueError(str(error)) from None


def _options(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise ValueError("give a table such as { flat_path_gate = 'off' }")
    return {name: tuple(map(str, values if isinstance(values, list) else [values])) for name, values in value.items()}


def _where(value: Any) -> dict[str, PropertyMatch]:
    if not isinstance(value, dict) or not value:
        raise ValueError("give a table such as { pass = 'bwd_data', g = 1, gemms_count = { min = 2 } }")
    return {name: _wanted(name, values) for name, values in value.items()}


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


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "where": _where,
    "case": _cases,
    "kernel": _texts,
    "target": _targets,
    "options": _options,
    "fill": lambda value: tuple(_one_of(fill_names())(one) for one in _texts(value)),
    "verdict": _verdict,
    "kind": _one_of(KINDS),
    "owner": _text,
    "ticket": _text,
    "expires": _date,
    "flaky": _text,
    "since": _date,
    "machine": _texts,
}
