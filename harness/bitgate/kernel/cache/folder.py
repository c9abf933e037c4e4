"""The build cache's folder: atomic writes, locks, a hash next to each artefact, and one message if it is unusable.

An artefact that a crash cut or a disk flipped does not match its hash: it is not loaded, but built again.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole

SEAL_SUFFIX = ".sha256"

_Stat = tuple[int, int, int, int]
_looked_at: dict[Path, tuple[_Stat, bool]] = {}
"""Results in this process: a file is read once, and again when it has changed."""


def seal_of(path: Path) -> Path:
    """Return the path of an artefact's hash."""
    return path.with_name(path.name + SEAL_SUFFIX)


def file_hash(path: Path) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(path: Path) -> bool:
    """Return whether an artefact has the hash that is next to it; one without a hash gets it now.

    OSError if there is no such artefact.
    """
    stat = path.stat()
    state = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    known = _looked_at.get(path)
    if known is None or known[0] != state:
        known = _looked_at[path] = (state, _compare(path))
    return known[1]


def _compare(path: Path) -> bool:
    seal, found = seal_of(path), file_hash(path)
    try:
        return seal.read_text().strip() == found
    except FileNotFoundError:
        with suppress(OSError):  # a cache that cannot be written
            write_whole(seal, found)
        return True
    except (OSError, UnicodeDecodeError):
        return False


KEEP_DAYS = 30
"""Artefacts that were not used for this long are removed when new ones are built."""

_DISK_ERRORS = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP, errno.ENAMETOOLONG),
    }
)
_serial = itertools.count()


class Cache:
    """The folder below ``paths.cache_dir()`` of objects, libraries and what is known about files."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or paths.cache_dir() / "build"

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn a full disk or a folder that cannot be written into a UsageError that says how to move it."""
        try:
            yield
        except OSError as error:
            if error.errno in _DISK_ERRORS:
                raise self.unusable(os.strerror(error.errno or 0)) from None
            raise

    def unusable(self, reason: str) -> UsageError:
        return UsageError(
            f"the build cache {self.folder} cannot be used: {reason};"
            " free space or set BITGATE_CACHE to a folder that can be written"
        )

    def lock(self, name: str) -> _Lock:
        """Return the lock of one artefact, shared by all processes that use this cache."""
        with self.guarded():
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        lock = _Lock(self.folder / "locks" / f"{name}.lock", thread_local=False)
        lock.cache = self
        return lock

    def temporary(self, suffix: str) -> Path:
        """Return an unused path on the disk of the artefacts: write there, then ``publish``."""
        folder = self.folder / "tmp"
        with self.guarded():
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{os.getpid()}-{next(_serial)}{suffix}"

    def publish(self, temporary: Path, path: Path) -> None:
        """Make a finished file visible under its name, at once and whole."""
        with self.guarded():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary, path)

    def publish_artefact(self, temporary: Path, path: Path) -> None:
        """Publish an artefact after its hash, so that no artefact is without one."""
        draft = self.temporary(SEAL_SUFFIX)
        with self.guarded():
            draft.write_text(file_hash(temporary))
        self.publish(draft, seal_of(path))
        self.publish(temporary, path)

    def read_json(self, path: Path) -> dict[str, Any]:
        """Return the JSON object in a file; empty if it is missing or damaged, since everything here can be rebuilt."""
        try:
            value = msgspec.json.decode(path.read_bytes())
        except (OSError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def write_json(self, path: Path, value: dict[str, Any]) -> None:
        temporary = self.temporary(".json")
        with self.guarded():
            temporary.write_text(json.dumps(value, separators=(",", ":")))
        self.publish(temporary, path)

    def used(self, path: Path) -> bool:
        """Return whether an artefact exists undamaged, and note its use once a day, so that ``prune`` keeps it.

        A damaged one is reported and removed.
        """
        try:
            whole = is_whole(path)
            if not whole:
                print(f"{path}: damaged in the cache (its hash is another): built again", file=sys.stderr, flush=True)
                path.unlink()
            elif time.time() - path.stat().st_mtime > 86400:
                os.utime(path)
                os.utime(seal_of(path))
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and path.is_file():
                if not whole:
                    raise self.unusable(f"{path.name} is damaged and cannot be replaced") from None
                return True
            return False
        return whole

    def prune(self) -> None:
        """Remove objects, libraries and generated sources not used for KEEP_DAYS, and temporary files after a day."""
        now = time.time()
        for pattern, days in (
            ("objects/*", KEEP_DAYS),
            ("libraries/*/*", KEEP_DAYS),
            ("generated/*", KEEP_DAYS),
            ("artefacts/*", KEEP_DAYS),
            ("tmp/*", 1),
        ):
            for path in self.folder.glob(pattern):
                try:
                    if now - path.stat().st_mtime < days * 86400:
                        continue
                    if path.is_dir():  # generated sources, or a shadow tree whose process was killed
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink()
                except OSError:
                    continue  # another process removed it first


class _Lock(FileLock):
    """A lock in the cache. UsageError if the cache cannot be written."""

    cache: Cache

    def _acquire(self) -> None:
        with self.cache.guarded():
            super()._acquire()
