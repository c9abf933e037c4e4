"""Frozen dataclasses to JSON and back. Their annotations are the schema: a document that differs says where."""

from __future__ import annotations

import types
from dataclasses import asdict, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DocumentError(ValueError):
    """The document is not one of the expected form; the message says at which place and what stands there."""


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass of plain values, tuples, dicts and dataclasses."""
    document: dict[str, Any] = asdict(value)
    return document


def from_json(cls: type[T], document: Any) -> T:
    """The dataclass that ``to_json`` made the document from. DocumentError for anything else."""
    value: T = _read(cls, document, "")
    return value


def _read(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise _unlike(where, " or ".join(map(repr, arguments)), value)
        return value
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise _unlike(where, "an object", value)
        return {str(key): _read(arguments[1], item, f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(hint):
        return _dataclass(hint, value, where)
    if type(value) is not hint and not (hint is float and type(value) is int):
        raise _unlike(where, hint.__name__, value)
    return value


def _dataclass(cls: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _unlike(where, "an object", value)
    hints = _hints(cls)
    missing = [field.name for field in fields(cls) if field.name not in value]
    if missing:
        raise DocumentError(f"{where.lstrip('.') or 'the document'} lacks {', '.join(missing)}")
    # Keys that are not known are left alone: a newer writer may say more under the same schema.
    return cls(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in hints})


@lru_cache(maxsize=64)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise _unlike(where, "a list", value)
    each = [arguments[0]] * len(value) if arguments[1:] == (...,) else list(arguments)
    if len(each) != len(value):
        raise _unlike(where, f"a list of {len(each)}", value)
    return tuple(_read(hint, item, f"{where}[{i}]") for i, (hint, item) in enumerate(zip(each, value, strict=True)))


def _one_of(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    """A value or None; or the dataclass whose ``kind`` the document states."""
    if value is None and type(None) in choices:
        return None
    rest = [choice for choice in choices if choice is not type(None)]
    if len(rest) == 1:
        return _read(rest[0], value, where)
    kinds = {get_args(_hints(choice)["kind"])[0]: choice for choice in rest}
    stated = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(stated, str) or stated not in kinds:
        raise _unlike(f"{where}.kind", " or ".join(map(repr, kinds)), stated)
    return _read(kinds[stated], value, where)


def _unlike(where: str, wanted: str, found: Any) -> DocumentError:
    text = repr(found)
    return DocumentError(f"{where.lstrip('.') or 'the document'} is {text[:60]}, not {wanted}")
