"""Hashes of the contents of files, on which every cache key rests. A file's stat only saves reading it again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.kernel.cache.folder import Cache

RACY_NS = 2_000_000_000
"""A file changed this recently may change again without its stat showing it: it is read every time."""

_MOST_ENTRIES = 20_000


def sha256(*parts: str) -> str:
    """Return one hash over strings, unambiguous in where each ends."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def content_of(library: Path) -> str:
    """Return a library's name in fingerprints: a hash of its content."""
    return hashlib.sha256(library.read_bytes()).hexdigest()[:16]


_last: dict[Path, tuple[tuple[int, int, int], dict[str, Any]]] = {}
"""State and content of files: a process asks for a dozen libraries, and each time for their hashes."""


def remembered(cache: Cache, path: Path) -> dict[str, Any]:
    """Return ``cache.read_json``, read once as long as the file stays the same."""
    try:
        stat = path.stat()
    except OSError:
        return {}
    state = stat.st_ino, stat.st_size, stat.st_mtime_ns  # it is replaced, never written into
    if path not in _last or _last[path][0] != state:
        _last[path] = state, cache.read_json(path)
    return dict(_last[path][1])


class Contents:
    """The hashes of files, remembered in the cache by (size, mtime, ctime, inode).

    ``overlay`` maps real paths to the files that replace them.
    """

    def __init__(self, cache: Cache, overlay: Mapping[str, str] | None = None) -> None:
        self._cache = cache
        self._overlay = dict(overlay or {})
        self._memo_path = cache.folder / "hashes.json"
        self._memo = remembered(cache, self._memo_path)
        self._new: dict[str, list[object]] = {}
        self._seen: dict[str, str | None] = {}

    def of(self, path: str) -> str | None:
        """Return the content hash of a file, None if it cannot be read. Each ``Contents`` reads a path once."""
        if path not in self._seen:
            self._seen[path] = self._hash(self._overlay.get(path, path))
        return self._seen[path]

    def forget(self) -> None:
        """Forget what was read, since files may have changed."""
        self._seen.clear()

    def save(self) -> None:
        """Store new hashes. Concurrent writers may lose each other's entries, which costs one read later."""
        if not self._new:
            return
        known = self._cache.read_json(self._memo_path)
        if len(known) > _MOST_ENTRIES:
            known = {}
        with suppress(UsageError):  # only time is lost: a cache that cannot be written may hold all that is needed
            self._cache.write_json(self._memo_path, {**known, **self._new})
        self._new = {}

    def _hash(self, path: str) -> str | None:
        try:
            stat = os.stat(path)
            state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            known = self._memo.get(path)
            if isinstance(known, list) and known[:-1] == state:
                return str(known[-1])
            content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError:
            return None
        if time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > RACY_NS:
            self._memo[path] = self._new[path] = [*state, content]
        return content
