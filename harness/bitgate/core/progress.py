"""Progress of long work, for people who watch a command; its results go elsewhere."""

from __future__ import annotations

import sys


def print_progress(line: str) -> None:
    """Print a line on stderr at once."""
    print(line, file=sys.stderr, flush=True)
