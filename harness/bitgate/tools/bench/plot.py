"""A comparison as a picture: B's time in A's, one line a shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.results.report.text import counted
from bitgate.tools.bench.compare import SweepComparison
from bitgate.tools.bench.table import name_of

SUFFIXES = (".svg", ".png", ".pdf")
COLOURS = {"A": "#b4552d", "tie": "#888888", "B": "#2d6fb4"}
LINE_INCHES = 0.24
TICKS = (1, 1.5, 2, 3, 5, 7)
"""Ticks of each decade, so that a sweep within one has a scale."""
SHOWN = 60
"""Most characters of a shape's name."""


def draw(comparison: SweepComparison, path: Path) -> None:
    """Write the picture in the format of the suffix.

    Raises UsageError for another suffix, without matplotlib, where nothing was compared, and where the file cannot be
    written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: a plot is one of {', '.join(SUFFIXES)}")
    try:
        import matplotlib
    except ImportError:
        raise UsageError("a plot needs matplotlib: pip install 'bitgate[plot]'") from None
    if not any(one.compared for one in comparison.shapes):
        raise UsageError(f"{path}: nothing was compared, so there is nothing to draw")
    # The same comparison gives the same file, whatever the user's own settings are.
    with matplotlib.rc_context(
        {**matplotlib.rcParamsDefault, "svg.hashsalt": "bitgate", "svg.fonttype": "none", "backend": "agg"}
    ):
        figure = _figure(comparison)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, bbox_inches="tight", dpi=120, metadata=_undated(path))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def _undated(path: Path) -> dict[str, None]:
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})


def _figure(comparison: SweepComparison) -> Any:
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    shapes = sorted((one for one in comparison.shapes if one.compared), key=lambda one: -one.ratio)
    figure = Figure(figsize=(8, 1.6 + LINE_INCHES * len(shapes)))
    axes = figure.add_subplot()
    least = comparison.significance.minimum_effect
    axes.axvspan(1 - least, 1 / (1 - least), color="#888888", alpha=0.18, lw=0)
    axes.axvline(1, color="#444444", lw=0.8)
    for kind, colour in COLOURS.items():
        places = [place for place, one in enumerate(shapes) if one.winner == kind]
        chosen = [shapes[place] for place in places]
        if chosen:
            off = [[one.ratio - one.low for one in chosen], [one.high - one.ratio for one in chosen]]
            label = f"tie: {len(chosen)}" if kind == "tie" else f"{kind} wins: {len(chosen)}"
            ratios = [one.ratio for one in chosen]
            axes.errorbar(ratios, places, xerr=off, fmt="o", ms=4, lw=1.2, color=colour, label=label)
    names = [name_of(one) for one in shapes]
    axes.set_yticks(
        range(len(shapes)),
        [name if len(name) <= SHOWN else name[: SHOWN - 4] + " ..." for name in names],
        fontsize=7,
        parse_math=False,  # a name may have dollars in it
    )
    axes.set_ylim(-0.8, len(shapes) - 0.2)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=TICKS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axes.xaxis.set_minor_formatter(
        FuncFormatter(lambda value, place: f"{value:g}") if _close(shapes) else NullFormatter()
    )
    words = [f"{comparison.significance.confidence:.0%} intervals", f"grey: less than {100 * least:.3g} %"]
    absent = len(comparison.shapes) - len(shapes)
    words += [f"{counted(absent, 'shape')} not compared"] * bool(absent)
    axes.set_xlabel(f"B's time / A's ({'; '.join(words)})", fontsize=8)
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.legend(fontsize=7, frameon=False, loc="lower left")
    return figure


def _close(shapes: Any) -> bool:
    """Say whether all intervals are within a factor of four, where the logarithmic scale has minor ticks only."""
    return bool(max(one.high for one in shapes) / min(one.low for one in shapes) < 4)
