"""TOML files: read within limits, with an error that names the file."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import InvalidInput, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LONGEST = 16 << 20
"""Bytes of a file."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the document of a text. Raises ValueError for everything that is no TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return the document in a file, and its text. Raises UsageError, which names the file, for any other."""
    try:
        data = read_bytes(path, LONGEST)
    except InvalidInput as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        text = data.decode()
        return parse_toml(text), text
    except ValueError as error:  # not UTF-8, a syntax error, a number of thousands of digits
        raise UsageError(f"{path}: not TOML: {error}") from None


def row_lines(text: str, name: str, count: int) -> list[int]:
    """Return the lines of the ``[[name]]`` of ``count`` tables, which TOML parsers do not report; 1 for one without."""
    headers = re.finditer(rf"^[ \t]*\[\[[ \t]*\"?{re.escape(name)}\"?[ \t]*\]\]", text, re.MULTILINE)
    lines = [text.count("\n", 0, header.start()) + 1 for header in headers]
    return (lines + [1] * count)[:count]
