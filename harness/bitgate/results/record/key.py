"""What a verdict is about, in memory and in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bitgate.core.untrusted import Count, InvalidInput, Name, Short, shaped


@dataclass(frozen=True)
class Key:
    """Two records with the same key are attempts at the same thing. ``options`` are sorted by name."""

    case: Name
    kernel: Name
    """The family."""
    instance: Name
    options: tuple[tuple[Short, Short], ...]
    fill: Name
    seed: Count
    schedule: Short
    target: Name

    def fields(self) -> dict[str, Any]:
        """As files have them, flat among others."""
        return dict(zip(FIELDS, self.values, strict=True)) | {"options": dict(self.options)}

    @classmethod
    def of(cls, flat: Mapping[str, Any]) -> Key:
        """From a mapping that holds its fields among others. OddInput if one is missing or of another type."""
        return shaped(cls, stated(flat))

    @property
    def values(self) -> tuple[Any, ...]:
        """In the order of the fields, wherever the key was read."""
        return tuple(getattr(self, name) for name in FIELDS)

    @property
    def name(self) -> str:
        """``family.instance``, the name that globs select on."""
        return f"{self.kernel}.{self.instance}"


MOST_SEED = 10**18 - 1
"""That one may ask for: a case that is repeated has seeds above its own."""

FIELDS = tuple(field.name for field in fields(Key))


def stated(flat: Mapping[str, Any]) -> dict[str, Any]:
    """What a flat mapping says of a key, with the options as a key has them; it may have none. OddInput."""
    found = {name: flat[name] for name in FIELDS if name in flat}
    options = found.get("options", {})
    if not isinstance(options, Mapping):
        raise InvalidInput(f"options: expected an object, got {options!r:.40}")
    return found | {"options": sorted(options.items())}
