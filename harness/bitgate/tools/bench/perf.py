"""What a row says to people: CK's line of time, arithmetic and memory, with an interval, and the share of the peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bitgate.model import parse_case_id
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench.interval import median_interval
from bitgate.tools.bench.peaks import roofline
from bitgate.tools.bench.settings import Significance
from bitgate.verify.trace import format_perf


@dataclass(frozen=True)
class Shown:
    """Seconds a launch; ``share`` of the roofline, None where it is not known."""

    row: Timing
    median: float
    low: float
    high: float
    share: float | None = None
    bound: str = ""

    @property
    def name(self) -> str:
        """``family.instance``, and the options that were named."""
        return " ".join([self.row.key.name, *(f"{name}={value}" for name, value in self.row.key.options)])

    @property
    def perf_line(self) -> str:
        return format_perf(parse_case_id(self.row.case), 1e3 * self.median)

    def as_json(self) -> dict[str, Any]:
        document = {
            "case": self.row.case,
            "kernel": self.name,
            "median": self.median,
            "low": self.low,
            "high": self.high,
            "tflops": self.row.flops / self.median / 1e12,
            "gbytes": self.row.bytes / self.median / 1e9,
        }
        return document | ({} if self.share is None else {"roofline": self.share, "roofline_of": self.bound})


def shown(row: Timing, significance: Significance) -> Shown:
    """Of a row that was timed."""
    interval = median_interval(row.seconds, significance)
    names = f"{row.device.get('name', '')} {row.fingerprint.get('gpu', '')}"
    best = roofline(parse_case_id(row.case), names)
    found = Shown(row, interval.median, interval.low, interval.high)
    return found if best is None else Shown(**{**vars(found), "share": best.seconds / found.median, "bound": best.by})


def lines(row: Timing, significance: Significance) -> Iterator[str]:
    """Of one row."""
    if row.status is not TimingStatus.TIMED:
        name = " ".join([row.key.name, *(f"{name}={value}" for name, value in row.key.options)])
        verdict = f" ({row.verdict})" if row.verdict not in ("", "PASS") else ""
        yield f"{row.status.value}{verdict}  {row.case}  {name}"
        if row.reason:
            yield f"  {row.reason}"
        if row.status is TimingStatus.NOT_VERIFIED and row.repro:
            yield f"  again: {row.repro}"
        return
    one = shown(row, significance)
    yield f"{one.name}  {_ms(one.median)} ms [{_ms(one.low)}, {_ms(one.high)}], {len(row.seconds)} samples{_notes(one)}"
    yield f"  {one.perf_line}{_share(one)}"
    if row.includes:
        yield f"  in this time, beside the kernels that compute: {', '.join(row.includes)}"
    if row.settings.get("launch_bound"):
        yield f"  bound by the thread that launches: {1e6 * row.host_seconds:.3g} us a launch"


def best_line(rows: Sequence[Timing], significance: Significance) -> str:
    """The fastest of a case; empty if none was timed."""
    timed = [shown(row, significance) for row in rows if row.status is TimingStatus.TIMED]
    if len(timed) < 2:
        return ""
    best = min(timed, key=lambda one: one.median)
    return f"best: {best.name}  {best.perf_line}{_share(best)}"


def clocks_line(row: Timing) -> str:
    """``sm_mhz 1980, celsius 31 to 45``; empty where the platform does not tell."""
    found = [f"{name} {_range(*map(float, pair))}" for name, pair in row.clocks.items()]
    return f"clocks: {', '.join(found)}" if found else ""


def summary(rows: Sequence[Timing], significance: Significance) -> dict[str, Any]:
    """How many rows there are of each status, how they were judged, and each case's best."""
    counts = {status.value: sum(row.status is status for row in rows) for status in TimingStatus}
    best: dict[str, Shown] = {}
    for row in rows:
        if row.status is TimingStatus.TIMED:
            one = shown(row, significance)
            if row.case not in best or one.median < best[row.case].median:
                best[row.case] = one
    return {
        "rows": len(rows),
        "statuses": {name: count for name, count in counts.items() if count},
        "significance": asdict(significance),
        "best": [one.as_json() for one in best.values()],
    }


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g}"


def _share(one: Shown) -> str:
    return "" if one.share is None else f", {one.share:.1%} of the roofline ({one.bound})"


def _notes(one: Shown) -> str:
    notes = {"behind": ", stopped: far behind the best", "budget": ", stopped: the budget was up"}
    return notes.get(str(one.row.settings.get("stopped", "")), "")


def _range(least: float, most: float) -> str:
    return f"{least:g}" if f"{least:g}" == f"{most:g}" else f"{least:g} to {most:g}"
