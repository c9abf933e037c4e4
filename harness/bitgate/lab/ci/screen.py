"""Progress of a night for a viewer: a live table on a terminal, plain lines elsewhere."""

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
"""Seconds between two lines of progress, if nothing else is printed."""


class Screen(Protocol):
    """An output for the progress of a night."""

    def say(self, line: str) -> None:
        """Print an event."""

    def show(self, view: NightView) -> None:
        """Show the state, at once or now and then."""


class PlainScreen:
    """Lines with their time, on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last_line = time.monotonic()

    def say(self, line: str) -> None:
        print(f"{datetime.now():%H:%M:%S} {line}", file=self._stream, flush=True)
        self._last_line = time.monotonic()

    def show(self, view: NightView) -> None:
        if time.monotonic() - self._last_line >= PLAIN_SECONDS:
            self.say(view.line)


class LiveScreen:
    """Lines, and below them a table that is redrawn."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(stderr=True, highlight=False), auto_refresh=False)

    def say(self, line: str) -> None:
        self.live.console.print(f"{datetime.now():%H:%M:%S} {line}", markup=False)

    def show(self, view: NightView) -> None:
        self.live.update(table(view), refresh=True)


def table(view: NightView) -> Table:
    """Draw targets against the states of their shards and the outcomes of their cases."""
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
    """Yield the screen that suits stderr."""
    if not sys.stderr.isatty():
        yield PlainScreen(sys.stderr)
        return
    lively = LiveScreen()
    with lively.live:
        yield lively
