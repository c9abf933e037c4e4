"""A file of ids, one a line: which cases of a tier are to run. ``bitgate ci select`` writes such files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bitgate.core.errors import UsageError, meant
from bitgate.core.untrusted import InvalidInput, read_bytes


def read_ids(path: Path) -> frozenset[str]:
    """Lines that begin with # are comments. UsageError if there is no such file, or it is no text."""
    if not path.is_file():
        raise UsageError(f"--select {path}: no such file; give one with exact ids, one a line")
    try:
        lines = read_bytes(path).decode().splitlines()
    except (InvalidInput, UnicodeDecodeError) as error:
        raise UsageError(f"--select {path}: {error}; give a text with exact ids, one a line") from None
    return frozenset(line.strip() for line in lines if line.strip() and line[0] != "#")


def check_known(ids: Collection[str], known: Collection[str]) -> None:
    """UsageError, with the nearest name, for an id that no case has: it would be left out without a word."""
    if unknown := sorted(set(ids) - set(known)):
        like = meant(unknown[0], known) or f", nor anything like it, among the {len(known)} there are"
        raise UsageError(f"--select: no test is called '{unknown[0]}'{like}")
