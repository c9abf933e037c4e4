"""Reports of a gate: for a terminal, a pull request, a dashboard, and a forge."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from junitparser import Error, Failure, Skipped
from junitparser.junitparser import FinalResult

from bitgate.results.record import UNKNOWN
from bitgate.results.report import junit
from bitgate.results.report.annotations import SHOWN, Remark, command
from bitgate.results.report.text import code, columns, literal, one_line
from bitgate.tools.bench.compare import ShapeResult, Winner
from bitgate.tools.bench.gate import COMPARED, OPEN, RED, Gate, GateResult, Ruling
from bitgate.tools.bench.table import ms, name_of

JUNIT = "bench.junit.xml"
ROWS = 200
"""Most rows of a table in Markdown: a comment on GitHub has 65,536 characters."""

_HEADER = ("Ruling", "Shape", "base ms", "head ms", "head takes", "again", "Why")


def text(gate: Gate) -> str:
    """Format every shape with a finding, and a last line for all."""
    rows = [_row(one) for one in _reportable(gate)]
    return "\n".join([*(columns(_HEADER, rows) if rows else []), *[""] * bool(rows), headline(gate)])


def markdown(gate: Gate) -> str:
    """Format the gate as a comment on a pull request."""
    reportable = _reportable(gate)
    lines = [f"**{headline(gate)}**", ""]
    if reportable:
        lines += [f"| {' | '.join(_HEADER)} |", "| --- | --- | ---: | ---: | --- | --- | --- |"]
        lines += [f"| {' | '.join(_marked(one))} |" for one in reportable[:ROWS]]
        lines += ["", f"... and {len(reportable) - ROWS} more, in {JUNIT}"] * (len(reportable) > ROWS)
    return "\n".join(lines).rstrip() + "\n"


def headline(gate: Gate) -> str:
    """Summarize the gate in one line: ``red: 1 slower, 2 faster, 38 no slower``."""
    counts = ", ".join(f"{count} {name}" for name, count in gate.counts.items() if count)
    word = {0: "green", 1: "red", 3: "too little data"}[gate.exit_code]
    significance = gate.significance
    if not counts:
        return f"{word}: no shape was measured"
    compared = len(gate.of(*COMPARED))
    if not gate.of(*COMPARED, *RED):
        counts += "; nothing was compared"
    if gate.same_builds:
        counts += f"; on {gate.same_builds} of {compared} compared base and head are the same build"
    return (
        f"{word}: {counts}; slower is {100 * significance.minimum_effect:.3g} % or more, significant at"
        f" {100 * significance.level:.3g} %, twice"
    )


def github_lines(gate: Gate) -> list[str]:
    """Return an error for each of the first red shapes, and a warning for each of which too little is known."""
    red = [command("error", remark) for remark in map(_remark, gate.of(*RED))]
    more = [f"... and {len(red) - SHOWN} more, in {JUNIT}"] if len(red) > SHOWN else []
    return [*red[:SHOWN], *more, *(command("warning", _remark(one)) for one in gate.of(*OPEN)[:SHOWN])]


def write_junit(gate: Gate, path: Path, target: str) -> None:
    """Write a testcase a shape: slower is a failure, not verified or too little data an error, no base is skipped."""
    suite = junit.JUnitSuite(f"bitgate.bench.{target}")
    rows = [best.row for one in gate.shapes for best in (one.shape.b, one.shape.a) if best]
    suite.timestamp = str(rows[0].run.get("time", "")) if rows else ""
    suite.timestamp = suite.timestamp or datetime.now(timezone.utc).isoformat(timespec="seconds")
    suite.hostname = one_line(rows[0].fingerprint.get("host", UNKNOWN)) if rows else UNKNOWN
    suite.add_property("gpu.target", one_line(target))
    if rows:
        suite.add_property("gpu.name", one_line(rows[0].device.get("name", UNKNOWN)))
    for name, value in vars(gate.significance).items():
        suite.add_property(f"significance.{name}", str(value))
    suite.add_testcases([_case(one, target) for one in gate.shapes])
    xml = junit.JUnitDocument("bitgate")
    xml.add_testsuite(suite)
    xml.update_statistics()
    junit.write(xml, path)


_ELEMENTS: dict[Ruling, tuple[type[FinalResult], str]] = {
    Ruling.SLOWER: (Failure, "Slower"),
    Ruling.NOT_VERIFIED: (Error, "NotVerified"),
    Ruling.TOO_LITTLE: (Error, "TooLittleData"),
    Ruling.NO_BASE: (Skipped, "no_base"),
    Ruling.GONE: (Skipped, "gone"),
    Ruling.NEITHER: (Skipped, "not_timed"),
}


def _case(one: GateResult, target: str) -> junit.JUnitCase:
    shape = one.shape
    name = f"test_no_slower[{shape.case}{'__' if shape.name else ''}{shape.name}]"
    seconds = shape.b.seconds.median if shape.b else 0.0
    case = junit.JUnitCase(junit.capped_name(name), f"bitgate.{target}.bench", seconds)
    if one.ruling in _ELEMENTS:
        element, kind = _ELEMENTS[one.ruling]
        case.result = element(one_line(_sentence(one), junit.MESSAGE), kind)
    case.system_out = "\n".join(f"{key}={one_line(value)}" for key, value in _facts(one))
    return case


def _facts(one: GateResult) -> Iterator[tuple[str, object]]:
    yield "ruling", one.ruling.value
    for prefix, measured in (("", one.shape), ("again.", one.again)):
        if measured is None:
            continue
        for side, best in (("base", measured.a), ("head", measured.b)):
            if best:
                yield f"{prefix}{side}.ms", ms(best)
                yield f"{prefix}{side}.kernel", best.words
        if measured.compared:
            yield f"{prefix}ratio", f"{measured.ratio:.4f}"
            yield f"{prefix}interval", f"{measured.low:.4f} to {measured.high:.4f}"
            yield f"{prefix}p", f"{measured.p:.3g}"
    if one.why:
        yield "why", one.why


def _reportable(gate: Gate) -> list[GateResult]:
    order = list(Ruling)
    found = [one for one in gate.shapes if one.ruling is not Ruling.SAME or one.why]
    return sorted(found, key=lambda one: order.index(one.ruling))


def _row(one: GateResult) -> tuple[str, ...]:
    shape, again = one.shape, one.again
    ruling = one.ruling.value
    return ruling, name_of(shape), ms(shape.a), ms(shape.b), takes(shape), takes(again) if again else "", one.why


def _marked(one: GateResult) -> tuple[str, ...]:
    ruling, _, base, head, first, again, why = _row(one)
    name = literal(one.shape.name) if one.shape.name else code(one.shape.case)
    bold = f"**{ruling}**" if one.ruling in RED else ruling
    return bold, name, base, head, first, again, literal(why)


def takes(shape: ShapeResult) -> str:
    """Format the time against the base's: ``5.1 % longer (4.0 to 6.2)``."""
    if not shape.compared:
        return "-"
    winner: Winner = shape.winner
    if winner == "B":
        return f"{100 * (1 - shape.ratio):.1f} % less ({100 * (1 - shape.high):.1f} to {100 * (1 - shape.low):.1f})"
    more = f"{100 * (shape.ratio - 1):.1f} % longer" if winner == "A" else f"{100 * (shape.ratio - 1):+.1f} %"
    return f"{more} ({100 * (shape.low - 1):.1f} to {100 * (shape.high - 1):.1f})"


def _sentence(one: GateResult) -> str:
    if one.ruling is not Ruling.SLOWER or one.again is None:
        return f"{one.ruling.value}: {one.why}"
    return f"{takes(one.shape)}, and when it was measured again {takes(one.again)}"


def _remark(one: GateResult) -> Remark:
    return Remark(f"{one.ruling.value}: {name_of(one.shape)}", _sentence(one))
