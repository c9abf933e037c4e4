"""The page of a run: one file that needs no network and no server."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from bitgate.results.record.view import PARTS
from bitgate.results.report.page import house
from bitgate.results.report.page.builder import MOST_CAUSES, PageBuilder, targets_of
from bitgate.results.report.page.past import RunPast
from bitgate.results.report.page.rows import table
from bitgate.results.report.summary import Summary

SHOWN = {"causes": MOST_CAUSES, "lines": 200, "others": 500, "side": 40}
"""Causes, lines of a list, rows of the table that is read without JavaScript, and rows and columns of the matrix."""


def write_page(file: Path, builder: PageBuilder, summary: Summary, past: RunPast | None = None) -> None:
    """Write the page of a run; ``past`` is what a history says about it. UsageError if it cannot be written."""
    house.write_page(file, page(builder, summary, past or RunPast()))


def page(builder: PageBuilder, summary: Summary, past: RunPast) -> str:
    """Return the HTML of a page."""
    rows, left_out = table(builder.rows(past))
    others = list(builder.others(past))
    return house.render(
        "page.html.j2",
        script="page.js",
        summary=summary,
        builder=builder,
        past=past,
        targets=targets_of(builder, [row.target for row in summary.targets]),
        suites=builder.suites[: SHOWN["side"]],
        others=others[: SHOWN["others"]],
        others_count=len(others),
        left_out=left_out,
        shown=SHOWN,
        parts=PARTS,
        rows=Markup(rows),
    )
