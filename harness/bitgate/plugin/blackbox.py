"""The black box: what a worker was verifying when its process died. A small file a worker, written before each case."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PREFIX = "blackbox-"


@dataclass(frozen=True)
class BlackBox:
    """``folder`` is the run's; ``worker`` names the file."""

    folder: Path
    worker: str

    @property
    def path(self) -> Path:
        return self.folder / f"{PREFIX}{self.worker}"

    def write(self, node_id: str) -> None:
        """In one write, without fsync: the process may die, the machine is not expected to."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(descriptor, json.dumps({"test": node_id, "pid": os.getpid()}).encode())
        finally:
            os.close(descriptor)

    def clear(self) -> None:
        """The case is on the record; whatever happens now is not about it."""
        self.path.unlink(missing_ok=True)

    def test(self) -> str:
        """The node id of the case under way; empty if there is none."""
        try:
            return str(json.loads(self.path.read_text())["test"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return ""


def left_behind(folder: Path) -> Iterator[BlackBox]:
    """The black boxes of a run that did not end."""
    for path in sorted(folder.glob(f"{PREFIX}*")):
        yield BlackBox(folder, path.name.removeprefix(PREFIX))
