"""A small cache that drops its least recently used entries once it holds too many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ByteCache(Generic[Value]):
    """Values by key, at most ``limit`` bytes of them; the newest is kept however large it is."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value of the key; ``make`` returns it with its size in bytes if it is not cached."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = make()
            self._bytes += entry[1]
            while self._bytes > self.limit and len(self._entries) > 1:
                _, (_, size) = self._entries.popitem(last=False)
                self._bytes -= size
        else:
            self._entries.move_to_end(key)
        return entry[0]
