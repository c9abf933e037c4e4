"""The ``sizes`` of an operation as data: lengths, flags and choices of one word, with their defaults.

They are data, so that a process which does not load user code can make the same dataclass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from enum import Enum
from functools import cached_property
from typing import Any, get_type_hints

from bitgate.model.dtype import DTYPES
from bitgate.model.gap import gap_of
from bitgate.model.problem import MAX_LENGTH, ProblemError

LENGTH, FLAG, CHOICE = "length", "flag", "choice"
RESERVED = ("gap", "gaps", "dtypes", "op", "in_op", "wei_op", "split_k", "ndim", "pass", "layout")
"""The words and fields that every operation has, or that mean something else where problems are compared."""


@dataclass(frozen=True)
class Size:
    """One field. ``words``: the values of a choice. ``default``: as ``plain`` gives it; None if it has none."""

    name: str
    kind: str
    words: tuple[str, ...] = ()
    default: int | bool | str | None = None


@dataclass(frozen=True)
class Schema:
    """The fields of an operation's sizes; ``type`` is their dataclass."""

    type: type[Any]
    sizes: tuple[Size, ...]

    def of_kind(self, kind: str) -> tuple[Size, ...]:
        return tuple(size for size in self.sizes if size.kind == kind)

    def plain(self, sizes: Any) -> dict[str, int | bool | str]:
        """Return the values as JSON has them: a choice is its word."""
        return {size.name: _plain(getattr(sizes, size.name)) for size in self.sizes}

    def made(self, values: Mapping[str, Any]) -> Any:
        """Return the dataclass of values, or of their JSON forms; defaults may be left out."""
        choices = self._choices
        return self.type(**{name: choices[name](value) if name in choices else value for name, value in values.items()})

    @cached_property
    def _choices(self) -> dict[str, Any]:
        """The enumerations of the choices by field. Python compiles the names of types each time that it is asked."""
        hints = get_type_hints(self.type)
        return {size.name: hints[size.name] for size in self.of_kind(CHOICE)}

    def check(self, sizes: Any) -> None:
        """Raise ProblemError for a length that no tensor has."""
        for size in self.of_kind(LENGTH):
            value = getattr(sizes, size.name)
            if not 1 <= value <= MAX_LENGTH:
                raise ProblemError(f"{size.name} = {value} is outside 1..{MAX_LENGTH}")

    def as_json(self) -> list[dict[str, Any]]:
        return [{**vars(size), "words": list(size.words)} for size in self.sizes]

    @classmethod
    def from_json(cls, said: list[dict[str, Any]]) -> Schema:
        sizes = tuple(Size(**{**one, "words": tuple(one["words"])}) for one in said)
        made = make_dataclass("Sizes", [_field_of(size) for size in sizes], frozen=True)
        return cls(made, sizes)


def schema_of(sizes: Any) -> Schema:
    """Return the schema of a dataclass; ValueError says which field cannot be a size, and what can."""
    if not isinstance(sizes, type) or not is_dataclass(sizes) or not sizes.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ValueError("sizes: state a frozen dataclass of ints, bools and enums")
    hints = get_type_hints(sizes)
    found = tuple(_size(one.name, hints[one.name], one.default) for one in fields(sizes))
    if not any(size.kind == LENGTH for size in found):
        raise ValueError("sizes: state an int at least: a problem without lengths has no tensors")
    every = [word for size in found for word in _words(size)]
    for word in every:
        if every.count(word) > 1 or word in DTYPES or word in RESERVED or gap_of(word):
            raise ValueError(f"sizes: '{word}' stands for something else already in case ids; rename it")
    return Schema(sizes, found)


def _words(size: Size) -> Iterator[str]:
    yield from size.words if size.kind == CHOICE else (size.name,)


def _size(name: str, kind: Any, default: Any) -> Size:
    if not re.fullmatch(r"[a-z]+", name):
        raise ValueError(f"sizes: '{name}': a name is of letters a-z, so that r64c1000 can be read back")
    stated = None if default is MISSING else _plain(default)
    if kind is int:
        return Size(name, LENGTH, default=stated)
    if kind is bool:
        return Size(name, FLAG, default=False if stated is None else stated)
    if isinstance(kind, type) and issubclass(kind, Enum):
        words = tuple(str(one.value) for one in kind)
        for word in words:
            if not re.fullmatch(r"[a-z][a-z0-9]*", word):
                raise ValueError(f"sizes: {name}: the value '{word}' is no word of a case id: a-z, then a-z and 0-9")
        return Size(name, CHOICE, words, stated)
    raise ValueError(f"sizes: {name}: {kind} is neither int, bool nor an Enum of words")


def _plain(value: Any) -> int | bool | str:
    plain: int | bool | str = str(value.value) if isinstance(value, Enum) else value
    return plain


def _field_of(size: Size) -> tuple[str, Any, Any]:
    kind = _kind_of(size)
    default = kind(size.default) if size.kind == CHOICE and size.default is not None else size.default
    return size.name, kind, field() if default is None else field(default=default)


def _kind_of(size: Size) -> Any:
    plain: dict[str, Any] = {LENGTH: int, FLAG: bool}
    return plain[size.kind] if size.kind in plain else Enum(size.name, {word: word for word in size.words})
