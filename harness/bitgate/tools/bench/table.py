"""A comparison as tables for people: the wins, then a row a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bitgate.model import ProblemError, parse_case_id
from bitgate.results.report.text import code, columns, counted, literal
from bitgate.tools.bench.compare import BestInstance, ShapeResult, SweepComparison, mean_ratio


class _Row(NamedTuple):
    shape: str
    a: str
    b: str
    b_against_a: str
    instance_a: str
    instance_b: str
    note: str


HeaderAndRows = tuple[tuple[str, ...], list[tuple[str, ...]]]
MEAN = "B's time / A's"
_NUMBERS = {"A ms", "B ms", "Shapes", "A wins", "Tie", "B wins", "Not compared", MEAN}
_HEADER = ("Shape", "A ms", "B ms", "B vs A", "A's instance", "B's instance", "Note")


def text(comparison: SweepComparison) -> str:
    """Format the comparison for a terminal."""
    counts = columns(*_counts(comparison))
    rows = [_row(one) for one in comparison.shapes]
    return "\n".join([*counts, "", *columns(*_without_notes(rows)), "", _format_summary(comparison)])


def markdown(comparison: SweepComparison) -> str:
    """Format the comparison for a pull request or a document."""
    rows = [_marked(one, _row(one)) for one in comparison.shapes]
    tables = [_pipes(*_counts(comparison)), _pipes(*_without_notes(rows))]
    return "\n\n".join(["\n".join(table) for table in tables] + [_format_summary(comparison)]) + "\n"


def tables_of(comparison: SweepComparison) -> tuple[HeaderAndRows, HeaderAndRows, str]:
    """Return header and rows of both tables, and the words below them."""
    return _counts(comparison), _without_notes([_row(one) for one in comparison.shapes]), _format_summary(comparison)


def _marked(one: ShapeResult, row: _Row) -> _Row:
    return row._replace(
        shape=literal(one.name) if one.name else code(one.case),
        b_against_a=f"**{row.b_against_a}**" if one.winner in ("A", "B") else row.b_against_a,
        instance_a=code(row.instance_a) if one.a else "-",
        instance_b=code(row.instance_b) if one.b else "-",
        note=literal(one.note),
    )


def ms(best: BestInstance | None) -> str:
    """Format the median in milliseconds with four digits."""
    if best is None:
        return "-"
    value = best.seconds.median * 1e3
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def against(one: ShapeResult) -> str:
    """Format the winner as ``B +17 % (15 to 19)``: the share of the slower arm's time that it saves. A tie shows B's
    saving."""
    if one.winner == "unknown":
        return "-"
    ends = [_gain_of_b(ratio) for ratio in (one.high, one.low)]
    if one.winner == "tie":
        return f"tie ({_percent(ends[0])} to {_percent(ends[1])} %)"
    if one.winner == "A":
        ends = [-ends[1], -ends[0]]
    return f"{one.winner} +{one.gain:.0%} ({ends[0]:.1%} to {ends[1]:.1%})".replace("%", " %").replace(" % to", " to")


def name_of(one: ShapeResult) -> str:
    return one.name or one.case


def _gain_of_b(ratio: float) -> float:
    return 1 - ratio if ratio <= 1 else 1 / ratio - 1


def _percent(share: float) -> str:
    return f"{100 * share:+.1f}"


def _counts(comparison: SweepComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Count the wins of each group that the operation names, and of all if there is more than one group."""
    kinds = ["A", "tie", "B"] + ["unknown"] * any(one.winner == "unknown" for one in comparison.shapes)
    names = {"A": "A wins", "tie": "Tie", "B": "B wins", "unknown": "Not compared"}
    groups = grouped(comparison.shapes)
    rows = [(group, *_count(found, kinds)) for group, found in groups.items()]
    if len(groups) != 1:
        rows.append(("all", *_count(comparison.shapes, kinds)))
    return ("", "Shapes", *(names[kind] for kind in kinds), MEAN), rows


def _count(shapes: Sequence[ShapeResult], kinds: Sequence[str]) -> tuple[str, ...]:
    counts = (str(sum(one.winner == kind for one in shapes)) for kind in kinds)
    return (str(len(shapes)), *counts, _mean(shapes))


def _mean(shapes: Sequence[ShapeResult]) -> str:
    """Format the mean with the least and the greatest ratio: ``0.38 (0.21 to 0.61)``."""
    mean = mean_ratio(shapes)
    if mean is None:
        return "-"
    ratios = [one.ratio for one in shapes if one.compared]
    return f"{mean:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _row(one: ShapeResult) -> _Row:
    return _Row(name_of(one), ms(one.a), ms(one.b), against(one), _instance(one.a), _instance(one.b), one.note)


def _instance(best: BestInstance | None) -> str:
    if best is None:
        return "-"
    return best.words + (f" (of {best.of})" if best.of > 1 else "")


def _without_notes(rows: Sequence[_Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows; the column of notes only where there are some."""
    width = len(_HEADER) if any(row.note for row in rows) else len(_HEADER) - 1
    return _HEADER[:width], [row[:width] for row in rows]


def _pipes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    under = ["---:" if name in _NUMBERS else "---" for name in header]
    return [f"| {' | '.join(line)} |" for line in (header, under, *rows)]


def _format_summary(comparison: SweepComparison) -> str:
    significance = comparison.significance
    compared = sum(one.compared for one in comparison.shapes)
    return (
        f"ms: the median of a launch. {MEAN}: the geometric mean over the shapes compared, the least and the greatest."
        f" A winner saves at least {100 * significance.minimum_effect:.3g} % of the slower side's time, is significant"
        f" at {100 * significance.level:.3g} % over {counted(compared, 'shape')} (exact rank test within blocks of"
        f" rounds, Benjamini-Hochberg), and the {100 * significance.confidence:.3g} % interval, in brackets, is"
        " clear of 0."
    )


OTHERS = "others"


def grouped(shapes: Sequence[ShapeResult]) -> dict[str, list[ShapeResult]]:
    """Group the shapes by what sets them apart, in the words of their operations, sorted.

    A sweep of one type has groups such as ``bwd_data, stride > 1``. Shapes of operations that are not loaded are
    ``others``.
    """
    named = [(_group_names(one.case), one) for one in shapes]
    known = [words for words, _ in named if words]
    depth = max(map(len, known), default=0)
    apart = [place for place in range(depth) if len({words[place : place + 1] for words in known}) > 1] or [depth - 1]
    groups: dict[str, list[ShapeResult]] = {}
    for words, one in named:
        name = ", ".join(words[place] for place in apart if place < len(words)) if words else OTHERS
        groups.setdefault(name, []).append(one)
    return dict(sorted(groups.items()))


def _group_names(case: str) -> tuple[str, ...]:
    try:
        return (problem := parse_case_id(case)).operation.diagnostics.groups(problem)
    except ProblemError:  # the operation is not loaded here
        return ()
