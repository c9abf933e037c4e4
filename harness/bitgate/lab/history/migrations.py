"""From the tables of an earlier bitgate to today's, one step a version, in order."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, text

from bitgate.lab.history.schema import samples


def _benchmarks(connection: Connection) -> None:
    """1 to 2: the line that shows a red case again, and a place for the samples of a benchmark."""
    connection.execute(text("ALTER TABLE verdicts ADD COLUMN repro TEXT NOT NULL DEFAULT ''"))
    samples.create(connection)


def _lines_of_samples(connection: Connection) -> None:
    """2 to 3: samples know the line that they are of. There was no way yet to store any."""
    samples.drop(connection)
    samples.create(connection)


STEPS: dict[int, Callable[[Connection], None]] = {1: _benchmarks, 2: _lines_of_samples}
"""By the version that a step starts from."""
