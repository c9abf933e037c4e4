"""The black box: what was being verified when a process died. A small file of each process that runs tests, written
before each case; and what the runs that were resumed remember of such files."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "blackbox-"
DEATHS = "deaths.json"


@dataclass
class BlackBox:
    """Black box of a process: the cases under way in a run's ``folder``, in a file named after ``worker``."""

    folder: Path
    worker: str
    _descriptor: int = field(default=-1, init=False)
    _length: int = field(default=0, init=False)

    @property
    def path(self) -> Path:
        return self.folder / f"{PREFIX}{self.worker}"

    def write(self, node_ids: Sequence[str]) -> None:
        """Write in one call, without fsync: the process may die, the machine is not expected to."""
        if self._descriptor < 0:
            if not node_ids:
                return
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        text = json.dumps({"tests": list(node_ids), "pid": os.getpid()}).encode() if node_ids else b""
        os.pwrite(self._descriptor, text.ljust(self._length), 0)
        self._length = max(self._length, len(text))

    @property
    def is_open(self) -> bool:
        """Does this process write it?"""
        return self._descriptor >= 0

    def clear(self) -> None:
        """Clear the box once all cases are on the record; a later death is about none of them."""
        self.write(())

    def remove(self) -> None:
        """Remove the file: the process is over."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor, self._length = -1, 0
        self.path.unlink(missing_ok=True)

    def tests(self) -> tuple[str, ...]:
        """Return the node ids of the cases under way."""
        try:
            return tuple(map(str, json.loads(self.path.read_text())["tests"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return ()


def left_behind(folder: Path) -> Iterator[BlackBox]:
    """Yield the black boxes of a run that did not end."""
    for path in sorted(folder.glob(f"{PREFIX}*")):
        yield BlackBox(folder, path.name.removeprefix(PREFIX))


def deaths(folder: Path) -> Counter[str]:
    """Node ids of what was under way when runs died, and how many did, the last one with its black boxes. A file that
    cannot be read counts as none."""
    under_way = {test for box in left_behind(folder) for test in box.tests()}
    try:
        before = {str(test): int(times) for test, times in json.loads((folder / DEATHS).read_text()).items()}
    except (FileNotFoundError, ValueError, TypeError, AttributeError):
        before = {}
    return Counter(before) + Counter(under_way)


def remember_deaths(folder: Path, times: Counter[str]) -> None:
    """Record deaths for the next run; without any, leave no file. OSError where that cannot be."""
    path = folder / DEATHS
    if times:
        path.write_text(json.dumps(times))
    elif path.exists():
        path.unlink()
