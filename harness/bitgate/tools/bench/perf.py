"""A timed row for people: CK's line of time, arithmetic and memory, with an interval and the share of the roofline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bitgate.model import Problem, parse_case_id
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench.interval import median_interval
from bitgate.tools.bench.settings import Significance
from bitgate.verify.trace import format_perf


@dataclass(frozen=True)
class Peak:
    """Peak rates of a device, from its maker's data sheet (docs/bench.md names them).

    ``flops``: dense matrix instructions a second, by the type that is multiplied; ``bytes`` of memory a second.
    """

    flops: Mapping[str, float]
    bytes: float


def _peak(terabytes: float, **teraflops: float) -> Peak:
    return Peak({name: 1e12 * value for name, value in teraflops.items()}, 1e12 * terabytes)


PEAKS: Mapping[str, Peak] = {
    "H200": _peak(4.8, f16=989.5, bf16=989.5, f8=1979.0, i8=1979.0, f32=67.0, f64=67.0),
    "MI250X": _peak(1.6384, f16=191.5, bf16=191.5, i8=191.5, f32=47.9, f64=47.9),
    "MI300X": _peak(5.3, f16=1307.4, bf16=1307.4, f8=2614.9, i8=2614.9, f32=163.4, f64=163.4),
    "MI350X": _peak(8.0, f16=2306.9, bf16=2306.9, f8=4613.7, i8=4613.7, f32=144.2, f64=72.1),
    "MI355X": _peak(8.0, f16=2516.6, bf16=2516.6, f8=5033.2, i8=5033.2, f32=157.3, f64=78.6),
    "RX 7900 XTX": _peak(0.96, f16=122.8, bf16=122.8, i8=122.8, f32=61.4),
    "RX 9070 XT": _peak(0.64, f16=194.6, bf16=194.6, f8=389.3, i8=389.3, f32=48.7),
}
"""Peaks by a part of the name that the driver gives the device. An MI250X is two devices: the row is for one of them.
"""


@dataclass(frozen=True)
class Roofline:
    """The seconds that a problem would take at the device's peaks; ``by``: arithmetic or memory, which limits it."""

    seconds: float
    by: str


def peak_of(device: str) -> Peak | None:
    """Look up a device by its name; None if there is no row for it."""
    return next((peak for name, peak in PEAKS.items() if name.lower() in device.lower()), None)


def roofline(problem: Problem, device: str) -> Roofline | None:
    """Return the roofline of a problem on a device; None where the device or its peak for these types is not listed."""
    peak = peak_of(device)
    flops = peak.flops.get(_multiplied(problem)) if peak else None
    if peak is None or flops is None:
        return None
    arithmetic, memory = problem.flops / flops, problem.bytes / peak.bytes
    return Roofline(max(arithmetic, memory), "arithmetic" if arithmetic >= memory else "memory")


def _multiplied(problem: Problem) -> str:
    """Return the type of all operands, empty if they differ; float8 in any flavour is f8."""
    read = {tensor.dtype.name for role, tensor in problem.tensors.items() if role not in problem.outputs}
    widths = {"f8" if "f8" in name else name for name in read}
    return widths.pop() if len(widths) == 1 else ""


@dataclass(frozen=True)
class PerfSummary:
    """The median and interval of a timed row, in seconds a launch; ``share`` of the roofline, None where it is not
    known."""

    row: Timing
    median: float
    low: float
    high: float
    share: float | None = None
    bound: str = ""

    @property
    def name(self) -> str:
        """The kernel as ``family.instance``, with the options that were named."""
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


def summarize(row: Timing, significance: Significance) -> PerfSummary:
    """Summarize a row that was timed."""
    interval = median_interval(row.seconds, significance)
    names = f"{row.device.get('name', '')} {row.fingerprint.get('gpu', '')}"
    best = roofline(parse_case_id(row.case), names)
    found = PerfSummary(row, interval.median, interval.low, interval.high)
    return (
        found
        if best is None
        else PerfSummary(**{**vars(found), "share": best.seconds / found.median, "bound": best.by})
    )


def format_row(row: Timing, significance: Significance) -> Iterator[str]:
    """Yield the lines of one row."""
    if row.status is not TimingStatus.TIMED:
        name = " ".join([row.key.name, *(f"{name}={value}" for name, value in row.key.options)])
        verdict = f" ({row.verdict})" if row.verdict not in ("", "PASS") else ""
        yield f"{row.status.value}{verdict}  {row.case}  {name}"
        if row.reason:
            yield f"  {row.reason}"
        if row.status is TimingStatus.NOT_VERIFIED and row.repro:
            yield f"  again: {row.repro}"
        return
    one = summarize(row, significance)
    yield f"{one.name}  {_ms(one.median)} ms [{_ms(one.low)}, {_ms(one.high)}], {len(row.seconds)} samples{_notes(one)}"
    yield f"  {one.perf_line}{_share(one)}"
    if row.includes:
        yield f"  in this time, next to the kernels that compute: {', '.join(row.includes)}"
    if row.settings.get("launch_bound"):
        yield f"  bound by the thread that launches: {1e6 * row.host_seconds:.3g} us a launch"


def format_best(rows: Sequence[Timing], significance: Significance) -> str:
    """Format the fastest row of a case; empty if fewer than two were timed."""
    timed = [summarize(row, significance) for row in rows if row.status is TimingStatus.TIMED]
    if len(timed) < 2:
        return ""
    best = min(timed, key=lambda one: one.median)
    return f"best: {best.name}  {best.perf_line}{_share(best)}"


def format_clocks(row: Timing) -> str:
    """Format the clocks of a row: ``clocks: sm_mhz 1980, celsius 31 to 45``; empty where the platform reports none."""
    found = [f"{name} {_range(*map(float, pair))}" for name, pair in row.clocks.items()]
    return f"clocks: {', '.join(found)}" if found else ""


def summary(rows: Sequence[Timing], significance: Significance) -> dict[str, Any]:
    """Return the number of rows of each status, how they were judged, and each case's best, for ``--json``."""
    counts = {status.value: sum(row.status is status for row in rows) for status in TimingStatus}
    best: dict[str, PerfSummary] = {}
    for row in rows:
        if row.status is TimingStatus.TIMED:
            one = summarize(row, significance)
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


def _share(one: PerfSummary) -> str:
    return "" if one.share is None else f", {one.share:.1%} of the roofline ({one.bound})"


def _notes(one: PerfSummary) -> str:
    notes = {"behind": ", stopped: far behind the best", "budget": ", stopped: the budget was up"}
    return notes.get(str(one.row.settings.get("stopped", "")), "")


def _range(least: float, most: float) -> str:
    return f"{least:g}" if f"{least:g}" == f"{most:g}" else f"{least:g} to {most:g}"
