"""A night as one watches it: a live table on a terminal, plain lines where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TextIO

from bitgate.lab.ci.view import WORDS, NightView

if TYPE_CHECKING:
    from rich.table import Table

PLAIN_SECONDS = 60.0
"""Between two lines that tell how far a night is, where nothing else is told."""


class Screen(Protocol):
    def say(self, line: str) -> None:
        """Something happened."""

    def show(self, view: NightView) -> None:
        """How it stands; told at once, or now and then."""


class PlainScreen:
    """Lines with their time, on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._told = time.monotonic()

    def say(self, line: str) -> None:
        print(f"{datetime.now():%H:%M:%S} {line}", file=self._stream, flush=True)
        self._told = time.monotonic()

    def show(self, view: NightView) -> None:
        if time.monotonic() - self._told >= PLAIN_SECONDS:
            self.say(view.line)


class LiveScreen:
    """The lines, and a table that is drawn again and again below them."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(stderr=True, highlight=False), auto_refresh=False)

    def say(self, line: str) -> None:
        self.live.console.print(f"{datetime.now():%H:%M:%S} {line}", markup=False)

    def show(self, view: NightView) -> None:
        self.live.update(table(view), refresh=True)


def table(view: NightView) -> Table:
    """Targets against what their shards do and how their cases ended."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(caption=view.line, caption_justify="left", box=None, pad_edge=False)
    drawn.add_column("target", min_width=max((len(row.target) for row in view.rows), default=0))
    for name in (*WORDS, "cases", "answered", "red"):
        drawn.add_column(name, justify="right")
    drawn.add_column("verdicts")
    for row in view.rows:
        counts = (*(row.shards.get(word, 0) for word in WORDS), row.cases, row.answered)
        verdicts = "  ".join(f"{outcome.value} {count}" for outcome, count in row.outcomes.items())
        drawn.add_row(row.target, *map(str, counts), Text(str(row.red), "red" if row.red else ""), verdicts)
    return drawn


@contextmanager
def screen() -> Iterator[Screen]:
    """What suits stderr."""
    if not sys.stderr.isatty():
        yield PlainScreen(sys.stderr)
        return
    lively = LiveScreen()
    with lively.live:
        yield lively
