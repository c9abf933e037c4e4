"""Objects that must be ended: by hand, or by a ``with``."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeVar

Own = TypeVar("Own", bound="Endable")


class Endable(ABC):
    @abstractmethod
    def end(self) -> None:
        """End it. A second call does nothing."""

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Leaving(Endable):
    """Objects that are ended at once, each in a separate thread, while the caller does something else.

    ``end`` waits for them. They must not be used any more."""

    def __init__(self, parts: Iterable[Endable]) -> None:
        self._threads = [threading.Thread(target=part.end, daemon=True) for part in parts]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join()
