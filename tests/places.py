"""Folders that have the same names in each run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from bitgate.core import paths


@contextmanager
def lasting_place() -> Iterator[Path]:
    """Lend an empty folder to one user at a time. A build is known by where its sources lie: what a test compiles
    here, the next test with the same sources finds built, and so does the next run."""
    folder = paths.cache_dir() / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    for number in count():
        place, lock = folder / str(number), FileLock(folder / f"{number}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        try:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            yield place
        finally:
            lock.release()
        return
