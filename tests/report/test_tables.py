"""Pages of tables: faults, mutants, benchmarks and coverage in the style of all pages, and hostile text in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench import timings
from tests.faults.test_mutant_trial import MUTANTS
from tests.faults.test_trial_record import FOUND, HOLE
from tests.report.browser import PHONE, looked_at
from tests.report.pages import Node, Page
from tests.report.test_page import HOSTILE

from bitgate.cli.main import run
from bitgate.results.record.timing import TimingStatus
from bitgate.results.report.page.tables import MOST_ROWS, TableSection, write_tables
from bitgate.tools.bench import page as bench_page
from bitgate.tools.bench.compare import compare
from bitgate.tools.bench.settings import Significance
from bitgate.tools.faults import page as faults_page
from bitgate.tools.faults.mutation import page as mutants_page
from bitgate.tools.faults.mutation.score import Score
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial

INVALID = replace(FOUND, fault=replace(FOUND.fault, name="gone", file="kernels/b.hpp"), valid=False, killed=False)
TABLE = Path(__file__).parent.parent / "coverage" / "data" / "ck_bwd_data_shapes.csv"
Write = Callable[[Path, str], None]


def faults(file: Path, text: str) -> None:
    fault = replace(HOLE.fault, imitates=text or "nothing")
    found = replace(FOUND, sentence=text or FOUND.sentence)
    faults_page.write_page(file, [found, replace(HOLE, fault=fault, note=text), INVALID], "smoke", "host")


def mutants(file: Path, text: str) -> None:
    survivor = replace(MUTANTS[0], original=text or MUTANTS[0].original)
    trials = [
        MutantTrial(MUTANTS[0], "k", Fate.KILLED, cases=3),
        MutantTrial(MUTANTS[1], "other", Fate.TIMEOUT, cases=1),
        MutantTrial(survivor, "k", Fate.SURVIVED, cases=7, shown_by=text or "bitgate verify c --kernel k"),
    ]
    mutants_page.write_page(file, Score(trials), 5)


def bench(file: Path, text: str) -> None:
    times = [1e-3 + 1e-6 * number for number in range(20)]
    rows = [timings.row("A", times), timings.row("B", [2 * one for one in times])]
    refused = timings.row("A", [], status=TimingStatus.REFUSED, reason=text or "no such layout")
    bench_page.write_page(file, [*rows, refused], compare(rows, Significance()), Significance())


def coverage(file: Path, text: str) -> None:
    table = file.parent / "table.csv"
    table.write_text(TABLE.read_text())
    arguments = ["--where", "before_7732", "--assume", "numd=0", "--strength", "2", "--html", str(file)]
    assert run(["coverage", "--cases", str(table), *arguments]) == 0


PAGES: list[Write] = [faults, mutants, bench, coverage]


def section(page: Page, title: str) -> Node:
    """The table of a section."""
    (found,) = [one for one in page.root.all("section") if one.one("h2").text == title]
    return found


def cells(found: Node) -> list[list[str]]:
    return [[cell.text for cell in row.all("td")] for row in found.one("tbody").all("tr")]


def test_the_kill_matrix_of_faults(tmp_path: Path) -> None:
    faults(tmp_path / "f.html", "")
    page = Page.of(tmp_path / "f.html")
    assert page.root.one("h1").text == "1 of 2 faults found by smoke on host"
    matrix = section(page, "Kill matrix")
    assert [one.text for one in matrix.one("thead").all("th")] == ["file", "MISMATCH", "hole", "not valid"]
    assert cells(matrix) == [["kernels/a.hpp", "1", "1", ""], ["kernels/b.hpp", "", "", "1"]]
    assert cells(section(page, "Holes")) == [["nothing", "nothing", "kernels/a.hpp", ""]]
    assert [row[1] for row in cells(section(page, "All faults"))] == ["MISMATCH", "hole", "not valid"]


def test_the_survivors_of_mutation(tmp_path: Path) -> None:
    mutants(tmp_path / "m.html", "")
    page = Page.of(tmp_path / "m.html")
    assert page.root.one("h1").text == "2 of 3 mutants killed"
    rows = {row[0]: row[-1] for row in cells(section(page, "Kill matrix"))}
    assert rows == {"k": "1 of 2", "other": "1 of 1"}
    (survivor,) = cells(section(page, "Survivors"))
    assert survivor[-2:] == ["7", "bitgate verify c --kernel k"]


def test_the_rows_of_a_benchmark(tmp_path: Path) -> None:
    bench(tmp_path / "b.html", "")
    page = Page.of(tmp_path / "b.html")
    assert page.root.one("h1").text == "2 timed, 1 refused on cpu"
    assert cells(section(page, "Wins"))[0][1:5] == ["1", "1", "0", "0"]
    assert [row[2:5] for row in cells(section(page, "Rows"))] == [
        ["A", "timed", "1.01"],
        ["B", "timed", "2.019"],
        ["A", "refused", ""],
    ]
    assert cells(section(page, "Rows"))[2][-1] == "no such layout"


def test_a_benchmark_of_the_host_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = "fwd_f32_nhwgc_g1n1k2c2_y1x1_h2x2"
    page = tmp_path / "p.html"
    arguments = ["bench", case, "--kernel", "naive_conv.*", "--target", "host", "--samples", "3", "--json"]
    assert run([*arguments, "--out", str(tmp_path / "o"), "--html", str(page)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(cells(section(Page.of(page), "Rows"))) == len(rows)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("write", PAGES[:-1])
def test_hostile_text_is_inert_and_bounded(write: Write, text: str, tmp_path: Path) -> None:
    plain, hostile = tmp_path / "plain.html", tmp_path / "hostile.html"
    write(plain, "")
    write(hostile, text)
    expected, found = Page.of(plain), Page.of(hostile)
    assert len(found.text) < len(expected.text) + 10_000
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f]", found.text)
    assert {one.tag for one in found.root.all()} <= {one.tag for one in expected.root.all()} | {"code", "b"}
    assert not found.root.all("script")
    names = {name for one in found.root.all() for name in one.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src")}


def test_a_table_without_end_is_cut(tmp_path: Path) -> None:
    rows = [[str(number)] for number in range(MOST_ROWS + 3)]
    write_tables(tmp_path / "t.html", "t", "", [], [TableSection("numbers", ["n"], rows)])
    found = Page.of(tmp_path / "t.html").root
    assert len(found.one("tbody").all("tr")) == MOST_ROWS
    assert "... and 3 more" in found.text


@pytest.mark.parametrize("command", [["faults", "run"], ["faults", "mutate"], ["bench", "c"]])
def test_what_cannot_be_written_is_known_first(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = ["fwd_f32_nhwgc_g1n1k2c2_y1x1_h2x2", "--target", "host"] if command[0] == "bench" else []
    assert run([command[0], *(case or command[1:]), "--html", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("write", PAGES)
def test_it_reads_on_a_phone_and_by_a_screen_reader(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write(file, "")
    found = looked_at(file, tmp_path)
    assert (found.width, found.findings) == (PHONE, [])
