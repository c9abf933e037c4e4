"""Formats of reports: each is a subclass of Report and a row of one table."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.results import report
from bitgate.results.record import Verdict
from bitgate.results.report import render
from bitgate.results.report.annotations import Remark, command
from bitgate.results.report.report import Report, ReportedRun

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


class Count(Report):
    """A format of this test's: the number of verdicts, and the targets."""

    file = "count.txt"

    def text(self, run: ReportedRun) -> str:
        return f"{run.summary.verdicts} {' '.join(ledger.target for ledger in run.ledgers)}"


class Lines(Report):
    """A format of this test's that a forge prints; a form feed is no end of a line."""

    forge = "lines"

    def text(self, run: ReportedRun) -> str:
        return "one\ftwo\nthree" if run.summary.reds else ""


def test_every_format_is_a_row_of_the_table() -> None:
    for module in iter_modules(report.__path__):
        import_module(f"{report.__name__}.{module.name}")
    ours = {one for one in Report.__subclasses__() if one.__module__.startswith(f"{report.__name__}.")}
    assert {type(one) for one in render.REPORTS} == ours
    names = [one.file or one.forge for one in render.REPORTS]
    assert len(set(names)) == len(names)


def test_a_row_of_the_table_is_written_with_the_others(
    verdict: Make, run_folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [path.name for path in render.report_files(tmp_path)]
    assert {"junit.xml", "summary.md"} <= set(others)
    monkeypatch.setattr(render, "REPORTS", (*render.REPORTS, Count()))
    summary = render.merge([run_folder("a", verdict()), run_folder("b", verdict(target="gfx942"))], tmp_path / "out")
    assert summary.exit_code == 0
    assert (tmp_path / "out" / "count.txt").read_text() == "2 gfx942 host"
    assert [path.name for path in render.report_files(tmp_path)] == [*others, "count.txt"]
    assert all(path.is_file() for path in render.report_files(tmp_path / "out"))


def test_a_forges_format_is_printed_on_request_only(
    dropped: Verdict, verdict: Make, run_folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "REPORTS", (*render.REPORTS, Lines()))
    render.check_forge("lines")
    lines: list[str] = []
    red = render.merge([run_folder("a", dropped)], tmp_path / "out")
    render.annotate(red, tmp_path / "out", "lines", lines.append)
    assert lines == ["one\ftwo", "three"]
    green = render.merge([run_folder("b", verdict())], tmp_path / "green")
    render.annotate(green, tmp_path / "green", "lines", lines.append)
    assert len(lines) == 2


@given(st.text() | st.sampled_from(["x" * 10**6, "::error::x\r\n::stop-commands::y", "a,b:c%0A", "\x1b[2J\u202e"]))
def test_an_annotation_is_one_bounded_line_of_its_own_command(text: str) -> None:
    line = command("error", Remark(text, text, text, 7))
    assert line.splitlines() == [line]
    assert line.replace("\t", "").isprintable()
    assert line.startswith("::error ")
    _, properties, _ = line.split("::", 2)
    assert len(line) < 40_000
    assert re.fullmatch(r"error (file=[^:,]*,line=7,)?title=[^:,]*", properties)
