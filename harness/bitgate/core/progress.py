"""Progress of long work, for people who watch a command; its results go elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

from bitgate.core.untrusted import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SOONEST_SECONDS = 5.0
"""Seconds after which an estimate is shown: the first steps of a work say little about the others."""


_shown: list[Progress] = []
"""The bars on terminals now, the last one below the others."""


def print_progress(line: str, stream: TextIO | None = None) -> None:
    """Print a line on stderr, or on the stream, at once; above a bar that is there."""
    if _shown:
        _shown[-1].console.print(line, markup=False, highlight=False, soft_wrap=True)
    else:
        print(line, file=stream or sys.stderr, flush=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream shows bars."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


class TimeLeft:
    """An estimate of the time that is left, by the steps that are done."""

    def __init__(self, total: float) -> None:
        self._total, self._begin = total, monotonic()

    def words(self, done: float) -> str:
        """Return ``, 40 s left``; nothing while it is too early, or nothing is left."""
        elapsed = monotonic() - self._begin
        if elapsed < SOONEST_SECONDS or not 0 < done < self._total:
            return ""
        left = elapsed * (self._total - done) / done
        return f", {left:.0f} s left" if left < 100 else f", {left / 60:.0f} min left"


class ProgressBar(Protocol):
    """A bar that work moves."""

    def reach(self, done: float, note: str = "") -> None:
        """Show how much is done in all, and a few words."""


class NoBar:
    """The bar of a command whose output is piped."""

    def reach(self, done: float, note: str = "") -> None:
        """Show nothing."""


class TaskBar:
    """One line of rich's progress."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def reach(self, done: float, note: str = "") -> None:
        """Show how much is done in all, and a few words."""
        self._progress.update(self._task, completed=done, note=printable(note))


@contextmanager
def progress_bar(label: str, total: float, stream: TextIO | None = None) -> Iterator[ProgressBar]:
    """Yield a bar with an estimated end, on a terminal's stderr and gone at the end; elsewhere nothing is shown.

    Lines that are printed meanwhile stand above it. A ``stream`` is used in place of stderr, which is then left alone.
    """
    if not is_terminal(stream or sys.stderr):
        yield NoBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    console = Console(file=stream, stderr=True, highlight=False)
    # What stdout gets must stay there where it is piped: only a terminal's lines are put above the bar.
    stdout, stderr = stream is None and sys.stdout.isatty(), stream is None
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=stdout, redirect_stderr=stderr)
    with bar as progress:
        _shown.append(progress)
        try:
            yield TaskBar(progress, progress.add_task(printable(label), total=total, note=""))
        finally:
            _shown.remove(progress)
