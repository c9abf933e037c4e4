"""The fixtures of a test that are a plugin's: a user may have replaced one by another of the same name.

The code that relies on pytest's internals is in this file. Where these have changed, no fixture counts as the
plugin's, and pytest makes the fixtures itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest


class OwnFixtures:
    """The fixtures ``names`` of ``plugin``."""

    def __init__(self, plugin: object, names: Collection[str]) -> None:
        self._plugin = plugin
        self._names = frozenset(names)
        self._known: dict[int, tuple[Any, tuple[str, ...]]] = {}
        """By the id of what the tests of one function share; that is kept, so that the id is not given away."""

    def among(self, item: pytest.Function) -> tuple[str, ...]:
        """Return those that the test asks for and that are not replaced."""
        shared = getattr(item, "_fixtureinfo", None)
        known = self._known.get(id(shared))
        if known is None:
            found = getattr(shared, "name2fixturedefs", {})
            own = (name for name in item.fixturenames if name in self._names and self._is_own(found.get(name, ())))
            known = self._known[id(shared)] = shared, tuple(own)
        return known[1]

    def _is_own(self, definitions: Any) -> bool:
        """Return whether the last definition, which a test gets, is the plugin's."""
        return bool(definitions) and getattr(definitions[-1].func, "__self__", None) is self._plugin
