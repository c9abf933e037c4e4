"""One run a folder: two that append to one record would leave a report of neither."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from bitgate.core.errors import UsageError

LOCK = ".lock"


def lock_folder(folder: Path) -> FileLock:
    """Lock the folder until release or the end of this process. UsageError if another run has it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        what = "another run writes here; wait for it, or set BITGATE_OUT to another folder"
        raise UsageError(f"{folder}: {what}") from None
    return lock
