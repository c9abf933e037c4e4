"""Text for index lists: ``1 to 8``, ``0 and 1``, ``0, 2 and 5 to 7``."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 6
"""The number of ranges that are listed; the rest are counted."""


def ranges(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive indices as (first, last)."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def spell(indices: Sequence[int]) -> str:
    words: list[str] = []
    left = len(set(indices))
    for first, last in ranges(indices)[:MOST]:
        left -= last - first + 1
        # A run of two reads better as two.
        words += [str(index) for index in range(first, last + 1)] if last < first + 2 else [f"{first} to {last}"]
    if left:
        words.append(f"{left} more")
    return join(words)


def join(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
