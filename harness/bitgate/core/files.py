"""Files that appear whole or not at all, and folders of which none is left out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bitgate.core.errors import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft next to a file; when it is written, it takes the file's place in one move.

    A link is replaced instead of followed, and missing folders are made. A draft that was not completed is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")  # no process of any machine takes the same one
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file, so that a reader never sees a part of it."""
    with replacing(path) as draft:
        draft.write_bytes(data.encode() if isinstance(data, str) else data)


def folders_below(top: Path) -> Iterator[tuple[Path, set[str]]]:
    """Yield a folder and those below, linked ones too, each once with the names of its files.

    UsageError for one that cannot be read: what it holds would be missed without a word.
    """

    def fail(error: OSError) -> None:
        raise UsageError(f"{error.filename}: cannot be read: {error.strerror or error}; what it holds would be missed")

    seen: set[str] = set()
    for place, below, names in os.walk(top, onerror=fail, followlinks=True):
        if (real := os.path.realpath(place)) in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        yield Path(place), set(names)
