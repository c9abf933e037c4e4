"""The page of a run: what it shows, that it reads without its script, and that hostile text in it is inert."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.pages import Node, Page
from tests.report.views import founding, view

from bitgate.cli.main import run
from bitgate.results.record import Diagnosis, Outcome, Stamp, Verdict
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.page.builder import PageBuilder
from bitgate.results.report.page.html import page
from bitgate.results.report.page.past import CasePast, FixedCase, RunPast
from bitgate.results.report.page.rows import TableRow, table
from bitgate.results.report.summary import summarise

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


def made(*verdicts: Verdict, past: RunPast | None = None) -> Page:
    """The page of verdicts, one ledger a target."""
    builder = PageBuilder()
    targets = dict.fromkeys(one.key.target for one in verdicts)
    ledgers = [Ledger(t, "smoke", tuple(AttemptEntry(v) for v in verdicts if v.key.target == t)) for t in targets]
    for ledger in ledgers:
        builder.add(ledger)
    return Page(page(builder, summarise(ledgers), past or RunPast()))


@pytest.fixture
def bug(dropped: Verdict) -> Verdict:
    """The founding bug with its view, as a night on a GPU records it."""
    return replace(
        dropped,
        view=view(founding(set(range(1, 9))), "gnchw", (64, 64, 32)),
        device_kind="hardware",
        device_id={"pci": "0000:c1:00.0"},
        where={"node": "node-17", "job": "4711", "log": "https://ci.example/4711"},
        run=Stamp("night-7", 1, "2026-11-20T02:00:00.000000+00:00"),
    )


def pairs(node: Node) -> dict[str, str]:
    return {one.one("dt").text: one.one("dd").text for one in node.all("div") if one.all("dt")}


def test_the_command_writes_one_file(bug: Verdict, verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    file = tmp_path / "pages" / "night.html"
    folders = [run_folder("a", bug, verdict()), run_folder("b", verdict(target="gfx942"))]
    assert run(["report", *map(str, folders), "--out", str(tmp_path / "o"), "--html", str(file)]) == 1
    found = Page.of(file).root
    assert found.one("h1").text == "RED 1 of 3 verdicts on gfx942, host (smoke)"
    assert pairs(found.one("header"))["cases"] == "3 asked, 3 compared, 0 refused, 0 not run, 0 lost"
    assert pairs(found.one("header"))["verdicts"] == "2 PASS , 1 MISMATCH"
    assert (tmp_path / "o" / "junit.xml").is_file()


def test_the_matrix_tells_kinds_of_device_apart(verdict: Make) -> None:
    found = made(
        verdict(),
        verdict(Outcome.MISMATCH, suite="gemm"),
        verdict(target="gfx942", device_kind="hardware"),
        verdict(target="gfx90a", device_kind="emulated"),
        verdict(target="gfx90a", suite="gemm", outcome=Outcome.NOT_RUN, expected=True, device_kind="emulated"),
    ).root.one("table", "matrix")
    rows = {row.one("th").text: [cell.text for cell in row.all("td")] for row in found.one("tbody").all("tr")}
    assert rows == {"gfx90a emulated": ["1", "0 of 1"], "gfx942 hardware": ["1", "·"], "host host": ["1", "1 red of 1"]}
    colours = [cell.attributes["class"] for cell in found.all("td")]
    assert colours == ["good", "odd", "good", "none", "good", "bad"]


def test_a_target_without_results_is_in_the_matrix(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    lost = verdict(case="c1")
    folder = run_folder("a", verdict(), planned=[verdict(), lost])
    file = tmp_path / "page.html"
    assert run(["report", str(folder), "--out", str(tmp_path / "o"), "--html", str(file)]) == 1
    found = Page.of(file)
    assert pairs(found.root.one("header"))["cases"].endswith("1 lost")
    assert [row["verdict"] for row in found.rows] == ["LOST", "PASS"]
    assert "no result was found" in found.root.one("article", "cause").text


def test_a_failure_shows_all_that_is_known_of_it(bug: Verdict) -> None:
    panel = made(bug).root.one("details", "failure")
    assert bug.diagnosis
    assert panel.one("p", "sentence").text == bug.diagnosis.sentence
    table = panel.one("table", "numbers")
    assert table.one("thead").text == "g n c h w result reference"
    assert [row.text for row in table.one("tbody").all("tr")][:2] == ["0 0 0 0 1 0 13", "0 0 0 0 2 0 14"]
    assert len(table.one("tbody").all("tr")) == 10
    assert panel.one("div", "repro").one("code").text == bug.repro
    known = pairs(panel)
    assert known["ran on"] == "node-17, GPU 0000:c1:00.0, job 4711, log https://ci.example/4711"
    assert known["with"] == "flat_path_gate=off"
    assert known["certificate"] == "sums of at most 1152 grid units, exact below 16777216; density 1; sensitivity 1"
    assert (known["path"], known["gemms_count"], known["gpu"]) == ("grouped", "9", "its gpu")
    assert panel.one("a", href="https://ci.example/4711")
    captions = [one.text for one in panel.all("figcaption")]
    assert captions[0] == "9 sub-GEMMs, by (x + pad) mod 3 x 3: wrong 1 to 8; right 0"
    assert captions[1] == "g 0, n 0 to 3: h 28 down, w 28 across; c 64 folded"
    assert [one.one("title").text for one in panel.all("svg", "cells")] == captions


def test_an_old_record_shows_its_ten_cells_only(dropped: Verdict) -> None:
    panel = made(replace(dropped, view={})).root.one("details", "failure")
    assert not panel.all("svg", "cells")
    assert len(panel.one("table", "numbers").one("tbody").all("tr")) == 10


def test_failures_of_one_cause_are_one_group(dropped: Verdict, verdict: Make) -> None:
    seeds = [replace(dropped, key=replace(dropped.key, seed=n, target=f"gfx{n % 2}")) for n in range(40)]
    found = made(*seeds, verdict(Outcome.CRASHED, reason="SIGSEGV"), verdict(Outcome.LOST, case="b")).root
    heads = [one.one("h3").text for one in found.all("article", "cause")]
    assert heads[0] == "MISMATCH missing_sub_gemm grouped_bwd_data path grouped"
    assert [head.split()[0] for head in heads] == ["MISMATCH", "CRASHED", "LOST"]
    group = found.one("article", "cause")
    assert "40 cases : 20 on gfx0, 20 on gfx1" in group.text
    assert 1 < len(group.all("details", "failure")) < 40
    assert "more of this cause in the table of cases" in group.text


def test_each_target_of_a_cause_has_panels(dropped: Verdict) -> None:
    reds = [replace(dropped, key=replace(dropped.key, seed=n, target=t)) for t in ("gfx90a", "host") for n in range(50)]
    panels = made(*reds).root.one("article", "cause").all("details", "failure")
    targets = [panel.one("span", "on").text for panel in panels]
    assert (targets.count("gfx90a"), targets.count("host")) == (12, 4)


def test_a_known_bug_is_shown_after_all_failures(dropped: Verdict, verdict: Make) -> None:
    entry = {"ticket": "BUG-12", "owner": "ada", "expires": "2099-01-01", "outcome": "MISMATCH"}
    found = made(replace(dropped, outcome=Outcome.KNOWN_BUG, known_bug=entry), verdict(Outcome.HUNG)).root
    last = found.all("article", "cause")[-1]
    assert last.one("h3").text.startswith("KNOWN_BUG missing_sub_gemm grouped_bwd_data path grouped BUG-12")
    assert pairs(last)["expires"] == "2099-01-01"


def test_all_cases_are_in_the_data_and_others_in_plain_html(dropped: Verdict, verdict: Make) -> None:
    found = made(verdict(case="c1"), dropped, verdict(Outcome.NOT_RUN, case="c2", expected=True, reason="needs 70 GiB"))
    assert [row["verdict"] for row in found.rows] == ["MISMATCH", "NOT_RUN", "PASS"]
    assert found.rows[-1] | {"ms": 0} == {
        "verdict": "PASS",
        "target": "host",
        "device": "host",
        "suite": "conv_bwd_data",
        "case": "c1",
        "kernel": "grouped_bwd_data.t64x64x32",
        **dict.fromkeys(("how", "kind", "state", "cause", "says", "repro", "page"), ""),
        "ms": 0,
    }
    body = found.root.one("tbody", id="body")
    assert len(body.all("tr")) == 2
    assert "needs 70 GiB" in body.text
    assert found.root.one("form", id="filters").attributes.keys() >= {"hidden"}  # of no use without the script


def test_the_past_of_a_failure_is_shown(dropped: Verdict, verdict: Make) -> None:
    other = verdict(Outcome.CRASHED, case="b")
    cases = {
        (dropped.key, dropped.test): CasePast("known", "night-5", "night-4", "a" * 40, "b" * 40, ("bbb Break it",), 3),
        (other.key, other.test): CasePast("new"),
    }
    found = made(dropped, other, past=RunPast("60 runs", cases, (FixedCase("c", "k.i", "host", "HUNG", "night-6"),)))
    known, new = (one.one("p", "history").text for one in found.root.all("article", "cause"))
    assert known == ("known red since night-5, last good run night-4; git log aaaaaaaaaaaa..bbbbbbbbbbbb")
    assert new == "new first red in this run, no good run is known"
    assert [one.text for one in found.root.one("ul", "commits").all("li")] == ["bbb Break it", "... and 2 before"]
    assert found.root.one("section", id="fixed").one("li").text == "c k.i on host: was HUNG in night-6"
    assert {row["case"]: row["state"] for row in found.rows}["b"] == "new"


def test_the_policy_allows_the_pages_own_parts_only(bug: Verdict) -> None:
    found = made(bug)
    policy = found.root.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    script = re.findall(r"<script>(.*?)</script>", found.text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", found.text, re.DOTALL)
    for rule, (text,) in (("script-src", script), ("style-src", style)):
        assert rules[rule] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    everything = found.root.all()
    assert not [one for one in everything if any(n == "style" or n.startswith("on") for n in one.attributes)]
    assert not [one for one in everything if "src" in one.attributes or one.tag in ("link", "img", "iframe", "base")]
    assert "innerHTML" not in script[0]


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><b>x</b>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred\x00\x07",
    "a\u202egnp.exe\u2066\u200f",
    '=HYPERLINK("http://evil")',
    "\u2028\u2029",
    "w" * (1 << 20),
    "word " * 200_000,
    "\U0001f4a5\U0001f468\u200d\U0001f469" * 1000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert_and_bounded(
    text: str,
    bug: Verdict,
    verdict: Make,
    run_folder: Folder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    long, short = text[:100_000], text[:1000]  # a line of a record has 4 MiB at most
    evidence = {"first_wrong_cells": [{"at": [long, short], "result": long, "reference": [long]}, short, None]}
    bad = replace(
        bug,
        reason=text,
        human=long,
        repro=long,
        foreign=long,
        row=long,
        test=f"suites/{long}",
        device_name=short,
        device_kind=short,
        device_id={"pci": short},
        where={"node": short, "job": short, "log": f"javascript:{short}"[:1000]},
        tier=short,
        dispatch={"path": long, short: [short] * 50, "list": {long: long}},
        diagnosis=Diagnosis(("other",), long, evidence),
        fingerprint={"host": long, "commit": long, "gpu": long},
        view=bug.view | {"axes": [long] * 5, "output": long},
        key=replace(bug.key, options=((short, short),), schedule=short),
    )
    known = {"ticket": long, "owner": long, "expires": "2099-01-01", "outcome": "MISMATCH"}
    folder = run_folder("a", bad, verdict(Outcome.KNOWN_BUG, known_bug=known), verdict(case="ok"))
    file = tmp_path / "page.html"
    run(["report", str(folder), "--out", str(tmp_path / "o"), "--html", str(file)])
    found, plain = Page.of(file), made(bug)
    assert len(found.text) < len(plain.text) + 60_000
    for shown in (found.text, capsys.readouterr().out):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200e\u200f]", shown)
    assert {one.tag for one in found.root.all()} <= {one.tag for one in plain.root.all()} | {"p", "li", "ul", "b", "dl"}
    assert len(found.root.all("script")) == 2
    links = {one.attributes["href"] for one in found.root.all("a")}
    assert all(re.match(r"#|https?://", link) for link in links)
    names = {name for one in found.root.all() for name in one.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src")}
    assert [row["verdict"] for row in found.rows].count("MISMATCH") == 1


def test_a_green_case_that_did_not_fit_is_counted(verdict: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitgate.results.report.page.rows.BYTES", 500)
    found = made(*(verdict(case=f"c{n}") for n in range(100)), verdict(Outcome.HUNG, case="red"))
    assert found.rows[0]["case"] == "red"
    left = 101 - len(found.rows)
    assert left > 0
    assert f"{left} cases that passed are left out" in found.root.one("section", id="cases").text


def test_drawing_ends_where_it_would_take_too_long(bug: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitgate.results.report.page.builder.CELLS", 2 * 200_704)  # of which one result has 200,704
    found = made(*(replace(bug, key=replace(bug.key, seed=seed)) for seed in range(3)))
    panels = found.root.all("details", "failure")
    assert [bool(panel.all("svg", "cells")) for panel in panels] == [True, True, False]


def test_a_matrix_of_too_many_suites_is_cut(verdict: Make) -> None:
    found = made(*(verdict(suite=f"s{n}", target=f"t{n}") for n in range(300)))
    assert len(found.root.one("table", "matrix").all("td")) == 40 * 40
    assert "300 targets and 300 suites" in found.root.one("section", id="matrix").text
    assert len(found.rows) == 300


def test_a_page_of_a_large_night_stays_small(bug: Verdict, verdict: Make) -> None:
    """20,000 verdicts on six targets, of which one in fifty is wrong in its own way, with a view of noise."""
    rng = np.random.default_rng(0)
    noise = view(rng.integers(0, 5, (1, 2, 32, 32, 32)), "gnchw")
    targets = ["gfx942", "gfx950", "gfx90a", "gfx1201", "gfx1100", "host"]
    verdicts: list[Verdict] = []
    for number in range(20_000):
        key: dict[str, Any] = {
            "case": f"fwd_f16_nhwgc_g1n{number % 64 + 1}k{number}c64_y3x3_h28x28_s1x1_d1x1_p1x1_q1x1",
            "target": targets[number % 6],
        }
        wrong = number % 50 == 0
        verdicts.append(replace(bug, key=replace(bug.key, **key), view=noise) if wrong else verdict(**key))
    found = made(*verdicts)
    assert len(found.text.encode()) < 15 << 20
    assert len(found.rows) == 20_000
    assert found.root.all("svg", "cells")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--history", "none.sqlite"], "there is no history yet"),
        (["--html", "."], "name a file"),
        (["--html", "p.html", "--history", "none.sqlite"], "there is no history yet"),
        (["--html", "results.jsonl/page.html"], "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_a_usage_error(
    arguments: list[str],
    words: str,
    verdict: Make,
    run_folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = run_folder("a", verdict())
    monkeypatch.chdir(folder)
    assert run(["report", str(folder), "--out", "o", *arguments]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert words in said[-1]


def test_json_has_stdout_for_itself(
    verdict: Make, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.html"
    folder = run_folder("a", verdict())
    assert run(["report", str(folder), "--out", str(tmp_path / "o"), "--html", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["summary"]["exit_code"] == 0
    assert str(file) in said.err


def test_words_are_stated_once() -> None:
    rows = [TableRow("PASS", "host", "host", "s", "case", "kernel", "", ms=n) for n in range(100)]
    text, left_out = table(rows)
    assert left_out == 0
    assert text.count("kernel") == 2  # a column, and a word
