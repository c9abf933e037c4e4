"""The page of past timings: a plot for each series with its levels, and the latest against before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path

from bitgate.lab.history.query import RecordedRun
from bitgate.lab.history.timed import TimedSeries
from bitgate.results.report.page import house

WIDTH, HEIGHT = 860, 150
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 8, 22
"""Margins around the plot, in its units."""
HIGHEST = 1.6
"""Multiple of the highest level: slower runs are drawn at the upper edge."""


@dataclass(frozen=True)
class Dot:
    """A point of a plot."""

    x: float
    y: float
    title: str
    outside: bool = False


@dataclass(frozen=True)
class Bar:
    """A level of a plot."""

    x1: float
    x2: float
    y: float
    worse: bool = False


@dataclass(frozen=True)
class Tick:
    """A tick of a plot's vertical axis."""

    y: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A series as the contents of an SVG: in units of WIDTH and HEIGHT, y downwards."""

    dots: tuple[Dot, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Dot, ...]
    """Places of its steps."""
    ticks: tuple[Tick, ...]
    ends: tuple[str, str]
    """The first night and the last."""


def chart(one: TimedSeries) -> Chart:
    """Draw a series of at least one point."""
    ms = [1e3 * point.seconds for point in one.points]
    levels = [1e3 * level.seconds for level in one.levels]
    top = min(max(ms), HIGHEST * max(levels))
    low = min(ms)
    room = max(0.05 * (top - low), 0.02 * top)
    low, top = max(0.0, low - room), top + room
    wide = (WIDTH - LEFT - RIGHT) / max(1, len(ms) - 1)

    def x(place: float) -> float:
        return round(LEFT + wide * place, 1)

    def y(value: float) -> float:
        share = (min(value, top) - low) / (top - low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    dots = [
        Dot(x(place), y(value), f"{point.run}: {value:.4g} ms, {point.commit[:12]}, {point.node}", value > top)
        for place, (value, point) in enumerate(zip(ms, one.points, strict=True))
    ]
    worse = {step.after.first: step.ratio > 1 for step in one.steps}
    bars = [
        Bar(x(level.first), x(level.last), y(value), worse.get(level.first, False))
        for level, value in zip(one.levels, levels, strict=True)
    ]
    marks = [
        Dot(
            x(step.place - 0.5),
            TOP,
            f"{step.first.run}: {1e3 * step.before.seconds:.4g} to {1e3 * step.after.seconds:.4g} ms",
        )
        for step in one.steps
    ]
    ticks = [Tick(y(value), f"{value:.4g}") for value in round_numbers(low, top)]
    return Chart(tuple(dots), tuple(bars), tuple(marks), tuple(ticks), (one.points[0].run, one.points[-1].run))


def round_numbers(low: float, top: float, most: int = 5) -> list[float]:
    """Return at most ``most`` multiples of 1, 2 or 5 times a power of ten, between the two."""
    raw = (top - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [place * step for place in range(ceil(low / step), floor(top / step) + 1)]


def write_page(path: Path, found: Sequence[TimedSeries], runs: Sequence[RecordedRun]) -> None:
    """Write one self-contained HTML file. Raises UsageError where it cannot be written."""
    ordered = sorted(found, key=lambda one: (one.regression is None, not one.steps, not one.enough))
    series = [(one, chart(one)) for one in ordered if one.points]
    size = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "bottom": HEIGHT - BOTTOM}
    house.write_page(path, house.render("bench.html.j2", styles=("bench.css",), series=series, runs=runs, size=size))
