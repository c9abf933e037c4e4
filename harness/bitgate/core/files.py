"""Files that appear whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
