"""Fields of tables that people write: what each may hold, which are required, and errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypeAlias

from bitgate.core.errors import UsageError, meant, near

Check: TypeAlias = Callable[[Any], Any]
"""Takes a value as TOML has it and returns what the field holds; ValueError says what is wrong and what to write."""


class FieldError(UsageError):
    """A bad field: the place (file, line, table), the field, what is wrong and what to do."""

    def __init__(self, place: object, name: str, problem: object) -> None:
        super().__init__(f"{place}: {name}: {problem}")


@dataclass(frozen=True)
class TableFields:
    """The fields that a table may have: the check of each, and for a required one what to write there."""

    checks: Mapping[str, Check]
    required: Mapping[str, str] = field(default_factory=dict)

    def read(self, place: object, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked values. Raises FieldError for an unknown, a missing or a wrong one."""
        for name in values:
            if name not in self.checks:
                raise FieldError(place, name, f"no such field; {near(name, self.checks)}")
        for name, advice in self.required.items():
            if name not in values:
                raise FieldError(place, name, f"is missing; {advice}")
        return {name: checked(place, name, self.checks[name], value) for name, value in values.items()}


def checked(place: object, name: str, check: Check, value: Any) -> Any:
    """Return the checked value of a field. Raises FieldError."""
    try:
        return check(value)
    except ValueError as error:
        raise FieldError(place, name, error) from None


def are_tables(values: object) -> bool:
    """Return whether a value is a list of tables, as ``[[name]]`` makes one."""
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def first_double(names: Sequence[str]) -> str | None:
    """Return the first name that occurs twice, if one does."""
    return next((name for name in names if names.count(name) > 1), None)


# --------------------------------------------------------------------------------------------------- single values


def text(value: Any) -> str:
    """Return a text that is not blank, its white space joined."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r:.80} is not a text; write one")
    return " ".join(value.split())


def string(value: Any) -> str:
    """Return a string as it is, a blank one too."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a text")
    return value


def boolean(value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.80} is neither true nor false")
    return value


def day(value: Any) -> date:
    """Return a date, which may be written as a text."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value!s:.80} is not a date such as 2030-01-31") from None


def one_of(*known: str) -> Check:
    """Return the check of a name out of these."""

    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r:.80} is not one of {', '.join(known)}{meant(str(value), known)}")
        return str(value)

    return check


def like(pattern: str, example: str) -> Check:
    """Return the check of a text that a regular expression matches."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r:.80} is not like {example}")
        return value

    return check


def number(least: int, most: int | None = None) -> Check:
    """Return the check of an integer within these limits."""

    def check(value: Any) -> int:
        if type(value) is not int or value < least or (most is not None and value > most):
            limits = f"a number from {least} up" if most is None else f"a number from {least} to {most}"
            raise ValueError(f"{value!r:.80} is not {limits}")
        return value

    return check


# ------------------------------------------------------------------------------------------------ lists and tables


def as_list(value: Any) -> list[Any]:
    """Return a list, where a value that stands alone is a list of one."""
    items = value if isinstance(value, list) else [value]
    if not items:
        raise ValueError("is an empty list; remove it or fill it")
    return items


def each(check: Check) -> Callable[[Any], tuple[Any, ...]]:
    """Return the check of a value, or a list of values, that each pass ``check``."""
    return lambda value: tuple(map(check, as_list(value)))


def list_of(check: Check) -> Callable[[Any], tuple[Any, ...]]:
    """Return the check of a list, which may be empty, of values that each pass ``check``."""

    def check_list(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"{value!r:.80} is not a list")
        return tuple(map(check, value))

    return check_list


def texts(pattern: str, example: str) -> Callable[[Any], tuple[str, ...]]:
    """Return the check of one or more texts that a regular expression matches."""
    return each(like(pattern, example))


def numbers(least: int) -> Callable[[Any], tuple[int, ...]]:
    """Return the check of one or more integers from ``least`` up."""
    return each(number(least))


def names(value: Any) -> tuple[str, ...]:
    """Return a list of texts, none of them twice."""
    if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
        raise ValueError(f'{value!r:.80} is not a list of texts such as ["..."]')
    if (twice := first_double(value)) is not None:
        raise ValueError(f"'{twice}' appears twice")
    return tuple(value)


def table(example: str, least: int = 1) -> Callable[[Any], dict[str, Any]]:
    """Return the check of a table, written like the example, with ``least`` entries or more."""

    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) < least:
            raise ValueError(f"give a table such as {example}")
        return value

    return check


def tables(header: str) -> Callable[[Any], list[dict[str, Any]]]:
    """Return the check of a list of tables, each below this header."""

    def check(value: Any) -> list[dict[str, Any]]:
        if not are_tables(value):
            raise ValueError(f"is not a list of tables; write {header}")
        return list(value)

    return check


def options(value: Any) -> dict[str, tuple[str, ...]]:
    """Return the alternatives of each option of a kernel, by name."""
    stated = table("{ flat_path_gate = ['gemms_count', 'off'] }", least=0)(value)
    return {name: tuple(map(str, as_list(values))) for name, values in sorted(stated.items())}
