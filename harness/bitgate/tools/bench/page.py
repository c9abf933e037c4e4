"""The page of a benchmark: every row with its median and interval, and who won where two sides were compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.results.report.page.tables import TableCell, TableSection, write_tables
from bitgate.tools.bench.compare import SweepComparison
from bitgate.tools.bench.perf import summarize
from bitgate.tools.bench.settings import Significance
from bitgate.tools.bench.table import tables_of

NUMBERS = frozenset({"ms", "from", "to", "TFLOP/s", "GB/s", "roofline"})


def write_page(
    file: Path, rows: Sequence[Timing], comparison: SweepComparison | None, significance: Significance
) -> None:
    """Write the page. UsageError if it cannot be written."""
    counts = Counter(row.status.value for row in rows)
    devices = dict.fromkeys(filter(None, (row.device.get("name", "") for row in rows)))
    words = ", ".join(f"{count} {status}" for status, count in counts.most_common()) or "nothing was timed"
    sections = [*_comparison(comparison)] if comparison else []
    header = ("case", "kernel", "side", "status", "ms", "from", "to", "TFLOP/s", "GB/s", "roofline", "note")
    sections.append(TableSection("Rows", header, [_row(row, significance) for row in rows], numbers=NUMBERS))
    kind = "" if counts[TimingStatus.TIMED.value] == len(rows) else "odd"
    write_tables(file, f"{words} on {', '.join(devices) or 'no device'}", kind, [], sections)


def _comparison(comparison: SweepComparison) -> list[TableSection]:
    counts, shapes, words = tables_of(comparison)
    return [
        TableSection("Wins", *counts, numbers=frozenset(counts[0][1:])),
        TableSection("Shapes", *shapes, [words], frozenset({"A ms", "B ms"})),
    ]


def _row(row: Timing, significance: Significance) -> list[TableCell | str]:
    timed = row.status is TimingStatus.TIMED
    options = [f"{name}={value}" for name, value in row.key.options]
    status = TableCell(row.status.value, "" if timed else "odd")
    first: list[TableCell | str] = [
        TableCell(row.case, code=True),
        TableCell(" ".join([row.key.name, *options]), code=True),
        row.side,
        status,
    ]
    if not timed:
        return [*first, *[""] * 6, row.reason]
    one = summarize(row, significance)
    found = one.as_json()
    numbers = [*(f"{1e3 * value:.4g}" for value in (one.median, one.low, one.high))]
    numbers += [f"{found[name]:.4g}" for name in ("tflops", "gbytes")]
    share = "" if one.share is None else f"{one.share:.1%}".replace("%", " %")
    return [*first, *numbers, share, ", ".join(row.includes)]
