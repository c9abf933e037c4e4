"""The text of a kernel source that is edited."""

from __future__ import annotations

from pathlib import Path

from bitgate.core.errors import UsageError


def source_text(path: Path) -> str:
    """Return the text of a source.

    Raises UsageError for one that is not UTF-8: compilers take any bytes in comments.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: no UTF-8, so that it cannot be edited: save it in this encoding") from None
