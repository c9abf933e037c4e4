"""The hash beside each artefact of the cache: what a crash cut or a disk flipped is not loaded, but built again."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from bitgate.core.files import write_whole

SUFFIX = ".sha256"

_Stat = tuple[int, int, int, int]
_looked_at: dict[Path, tuple[_Stat, bool]] = {}
"""Of this process: a file is read once, and again when it has changed."""


def sealed(path: Path) -> Path:
    """Where the hash of an artefact stands."""
    return path.with_name(path.name + SUFFIX)


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_whole(path: Path) -> bool:
    """Does the artefact have the hash that stands beside it? One of before there were hashes gets one now. OSError if
    it is not there."""
    stat = path.stat()
    state = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    known = _looked_at.get(path)
    if known is None or known[0] != state:
        known = _looked_at[path] = (state, _compare(path))
    return known[1]


def _compare(path: Path) -> bool:
    seal, found = sealed(path), hash_of(path)
    try:
        return seal.read_text().strip() == found
    except FileNotFoundError:
        with suppress(OSError):  # a cache that cannot be written
            write_whole(seal, found)
        return True
    except (OSError, UnicodeDecodeError):
        return False
