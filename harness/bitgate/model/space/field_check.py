"""Checks of the fields of a case table, on values as TOML has them; ValueError says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bitgate.model.gap import gap_of

Check = Callable[[Any], Any]


def as_list(value: Any) -> list[Any]:
    """Return a list; a single value becomes a list of one."""
    items = value if isinstance(value, list) else [value]
    if not items:
        raise ValueError("is an empty list, which would make no case at all; remove it or fill it")
    return items


def texts(pattern: str, example: str) -> Callable[[Any], tuple[str, ...]]:
    """Return a check of texts of a pattern."""

    def check(value: Any) -> tuple[str, ...]:
        for item in as_list(value):
            if not isinstance(item, str) or not re.fullmatch(pattern, item):
                raise ValueError(f"{item!r} is not like {example}")
        return tuple(as_list(value))

    return check


def numbers(least: int) -> Callable[[Any], tuple[int, ...]]:
    """Return a check of numbers from ``least`` up."""

    def check(value: Any) -> tuple[int, ...]:
        for item in as_list(value):
            if not isinstance(item, int) or isinstance(item, bool) or item < least:
                raise ValueError(f"{item!r} is not a number from {least} up")
        return tuple(as_list(value))

    return check


def gaps(value: Any) -> tuple[bool | str, ...]:
    """Check gaps: ``true`` is for all tensors, ``"inw8_outh4"`` for these tensors and axes."""
    for item in as_list(value):
        if not isinstance(item, bool | str) or (isinstance(item, str) and not all(map(gap_of, _of_single_axes(item)))):
            raise ValueError(f"{item!r} is neither true nor false nor like inw8 or inw8_outh4")
    return tuple(as_list(value))


def gap_words(value: bool | str) -> str:
    """Return the part of a case id that one of ``gaps`` is."""
    return "_".join(_of_single_axes(value)) if isinstance(value, str) else "gap" * value


def _of_single_axes(value: str) -> list[str]:
    return [f"gap{part}" for part in value.split("_")]


def split_k(value: Any) -> tuple[int, ...]:
    """Check split-K; ``auto`` is -1."""
    return tuple(-1 if item == "auto" else numbers(1)(item)[0] for item in as_list(value))
