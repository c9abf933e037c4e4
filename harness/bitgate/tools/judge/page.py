"""The pages of judged submissions: one submission with all checks, or the table of many."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitgate.results.report.page.tables import TableCell, TableSection, write_tables

CLOCKS = {
    "bounded": "bounded from outside: the judge's clock around checked calls",
    "trusted": "trusted: events of the device around launches of device code alone, each checked",
}
"""The meaning of each kind of time."""
KINDS = {"right": "good", "wrong": "bad", "open": "odd"}


def write_page(file: Path, report: Mapping[str, Any]) -> None:
    """Write the page of one submission. UsageError if it cannot be written."""
    checks = TableSection(
        "Checks", ("case", "data", "group", "outcome", "what is wrong"), [_check(one) for one in report["checks"]]
    )
    notes = [f"task {report['task']} on {report['target']}, seed {report['seed']}", f"rule: {report['rule']}"]
    notes += report["notes"]
    notes.append(f"sandbox: {', '.join(report['sandbox'])}")
    sections = [checks, *_time(report["time"])]
    words = f": {report['diagnosis']}" if report["diagnosis"] else ""
    title = f"{Path(report['submission']).name} is {report['verdict']}{words}"
    write_tables(file, title, KINDS[report["verdict"]], notes, sections)


def write_table(file: Path, table: Mapping[str, Any]) -> None:
    """Write the page of many submissions. UsageError if it cannot be written."""
    header = ("place", "submission", "verdict", "ms", "what is wrong")
    sections = [
        TableSection(f"{one['task']}, {one['time']} times", header, [_place(row) for row in one["rows"]])
        for one in table["tasks"]
    ]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in table["verdicts"].items()) or "nothing was judged"
    write_tables(file, counts, "" if table["exit"] == 0 else "odd", table["notes"], sections)


def _check(one: Mapping[str, Any]) -> list[TableCell | str]:
    kind = "good" if one["green"] and one["compared"] else "odd" if one["green"] else "bad"
    return [
        TableCell(one["case"], code=True),
        one["fill"],
        one["group"],
        TableCell(one["outcome"], kind),
        one["reason"],
    ]


def _time(time: Mapping[str, Any] | None) -> list[TableSection]:
    if time is None:
        return []
    names = ("ms", "low", "high", "samples", "floor", "claimed")
    rows: list[list[TableCell | str]] = [
        [TableCell(one["case"], code=True), *(f"{one[name]:.4g}" for name in names)] for one in time["rows"]
    ]
    notes = [f"not timed: {time['wrong']}" if time["wrong"] else f"{CLOCKS[time['kind']]}; never below the floor"]
    return [TableSection("Time", ("case", *names), rows, notes, frozenset(names))]


def _place(row: Mapping[str, Any]) -> list[TableCell | str]:
    time = "" if row["ms"] is None else f"{row['ms']:.4g}"
    verdict = TableCell(row["verdict"], KINDS.get(row["verdict"], "odd"))
    return [str(row["place"] or ""), TableCell(row["submission"], code=True), verdict, time, row["diagnosis"] or ""]
