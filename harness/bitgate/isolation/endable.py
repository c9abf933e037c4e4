"""What must be ended: by hand, or by a ``with``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

Own = TypeVar("Own", bound="Endable")


class Endable(ABC):
    @abstractmethod
    def end(self) -> None:
        """Once is enough; again does nothing."""

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
