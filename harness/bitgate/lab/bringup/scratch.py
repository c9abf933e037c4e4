"""A folder for what other processes write, made when it is needed: a disk without space for it spoils no other step."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bitgate.worker.endable import Endable


class Scratch(Endable):
    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def folder(self, name: str) -> Path:
        """A place in it, not made yet. OSError if there is nowhere to make the folder."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="bitgate-first-contact-", ignore_cleanup_errors=True)
        return self.made / name

    @property
    def made(self) -> Path:
        """The folder; one that is not there if it was not needed."""
        return Path(self._folder.name) if self._folder else Path("/nonexistent")

    def end(self) -> None:
        if self._folder is not None:
            folder, self._folder = self._folder, None
            folder.cleanup()
