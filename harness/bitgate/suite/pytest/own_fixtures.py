"""Which fixtures of a test are a plugin's own: an owner may have put another of the same name over one of them.

What rests on pytest's own parts, which it may change, is in this file: where they are others, nothing is ours, and
pytest makes the fixtures itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest


class OwnFixtures:
    """``names`` are fixtures that ``plugin`` has."""

    def __init__(self, plugin: object, names: Collection[str]) -> None:
        self._plugin = plugin
        self._names = frozenset(names)
        self._known: dict[int, tuple[Any, tuple[str, ...]]] = {}
        """By what the tests of one function share, which is kept so that its number stays its own."""

    def among(self, item: pytest.Function) -> tuple[str, ...]:
        """Those that the test asks for and that nobody has replaced."""
        shared = getattr(item, "_fixtureinfo", None)
        known = self._known.get(id(shared))
        if known is None:
            found = getattr(shared, "name2fixturedefs", {})
            own = (name for name in item.fixturenames if name in self._names and self._is_own(found.get(name, ())))
            known = self._known[id(shared)] = shared, tuple(own)
        return known[1]

    def _is_own(self, definitions: Any) -> bool:
        """The last of them is what a test gets."""
        return bool(definitions) and getattr(definitions[-1].func, "__self__", None) is self._plugin
