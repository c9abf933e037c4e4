"""The black box: what a worker was verifying when its process died. A small file a worker, written before each case and
emptied behind it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PREFIX = "blackbox-"


@dataclass(eq=False)
class BlackBox:
    """``folder`` is the run's; ``worker`` names the file."""

    folder: Path
    worker: str
    _descriptor: int = -1
    """Of its writer, from the first case on: to make and remove a file for each case costs more than to write it."""
    _length: int = 0

    @property
    def path(self) -> Path:
        return self.folder / f"{PREFIX}{self.worker}"

    def write(self, node_id: str) -> None:
        """In one write, without fsync: the process may die, the machine is not expected to."""
        if self._descriptor < 0:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        if self._length:
            self.clear()
        self._length = os.pwrite(self._descriptor, json.dumps({"test": node_id, "pid": os.getpid()}).encode(), 0)

    def clear(self) -> None:
        """The case is on the record; whatever happens now is not about it."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            self._length = 0

    def close(self) -> None:
        """There will be no other case of this process; what another one left stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self.remove()

    def remove(self) -> None:
        """What its process left behind is dealt with."""
        self.path.unlink(missing_ok=True)

    def test(self) -> str:
        """The node id of the case under way; empty if there is none."""
        try:
            return str(json.loads(self.path.read_text())["test"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return ""


def left_behind(folder: Path) -> Iterator[BlackBox]:
    """The black boxes of a run that did not end, but for those of no case."""
    for path in sorted(folder.glob(f"{PREFIX}*")):
        if path.stat().st_size:
            yield BlackBox(folder, path.name.removeprefix(PREFIX))
