"""summary.md: the night at a glance, as GitHub shows it, whatever texts a record holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bitgate.cli.main import run
from bitgate.results.record import Certificate, Diagnosis, Outcome, Verdict
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.markdown import LIMIT, markdown
from bitgate.results.report.since import SinceLast
from bitgate.results.report.summary import summarise

Make = Callable[..., Verdict]
Folder = Callable[..., Path]
LINE = "{} {} grouped_bwd_data.t64x64x32 exact  # why"
HEADER = """# grouped_bwd_data bwd_data smoke: 2 cases, 1.0 s, pairs 90 of 100, triples 5 of 10
# grouped_bwd_data bwd_data regression: 3 cases, 2.0 s, pairs 100 of 100, triples 10 of 10
"""
CASES = ["bwd_data_a", "bwd_data_b", "bwd_data_c"]


class Shown(HTMLParser):
    """The elements and the tables of a rendered page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ends: Counter[str] = Counter()
        self.rows: list[list[str]] = []
        self.in_cell = False
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.ends[tag] += 1
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.rows[-1][-1] += data.strip()


def _text(*verdicts: Verdict, since: SinceLast | None = None) -> str:
    targets = dict.fromkeys(one.key.target for one in verdicts)
    ledgers = [
        Ledger(target, "smoke", tuple(AttemptEntry(one) for one in verdicts if one.key.target == target))
        for target in targets
    ]
    return markdown(summarise(ledgers), since)


def test_a_matrix_of_suites_and_targets_comes_first(verdict: Make) -> None:
    silent = verdict(Outcome.NOT_RUN, suite="gemm", target="gfx942", expected=True, reason="no machine")
    text = _text(verdict(), verdict(suite="gemm"), verdict(Outcome.MISMATCH, case="b", target="gfx942"), silent)
    assert Shown(text).rows[:3] == [
        ["suite", "host", "gfx942"],
        ["conv_bwd_data", "1 green", "1 redof 1"],
        ["gemm", "1 green", "nothing compared of 1"],
    ]


def test_causes_are_counted_over_all_targets(verdict: Make, dropped: Verdict) -> None:
    reds = [replace(dropped, key=replace(dropped.key, target=t, seed=s)) for t in ("gfx942", "host") for s in (1, 2)]
    crash = verdict(Outcome.CRASHED, case="b", reason="worker ended by SIGSEGV")
    rows = Shown(_text(*reds, crash)).rows
    top = rows[next(n for n, row in enumerate(rows) if row[:2] == ["cases", "verdict"]) + 1]
    assert top[:6] == ["4", "MISMATCH", "missing_sub_gemm", "grouped_bwd_data", "grouped", "gfx942 2, host 2"]
    assert re.fullmatch("[0-9a-f]{12}", top[6])


def test_allowed_skips_have_owner_and_expiry(verdict: Make) -> None:
    reason = "tolerated until 2099-12-31 (ann@lab: bounds come later): no bound stated"
    skips = [verdict(Outcome.NOT_RUN, case=f"c{n}", expected=True, reason=reason) for n in range(3)]
    assert ["host", "ann@lab", "2099-12-31", "3", "bounds come later"] in Shown(_text(verdict(), *skips)).rows
    not_excused = verdict(Outcome.NOT_RUN, reason=reason)
    assert "Allowed skips" not in _text(verdict(), not_excused)


def _listed(verdict: Make, folder: Path, *cases: str, header: str = HEADER) -> list[Verdict]:
    """Write a solved list, and return a green verdict on each line."""
    tiers = ["smoke", "smoke", "regression"]
    suite = folder / "suites" / "conv_bwd_data"
    suite.mkdir(parents=True, exist_ok=True)
    (suite / "solved.txt").write_text(header + "\n".join(map(LINE.format, tiers, CASES)) + "\n")
    row = "suites/conv_bwd_data/solved.txt:{}"
    return [verdict(case=case, row=row.format(number)) for number, case in enumerate(cases, 3)]


def test_a_green_run_states_the_strength_of_its_lists(
    verdict: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = _listed(verdict, tmp_path, *CASES)
    assert "all 3 cases of regression green: pairs 100 of 100 (100.0 %), triples 10 of 10" in _text(*whole)
    assert "all 2 cases of smoke green: pairs 90 of 100 (90.0 %), triples 5 of 10" in _text(*whole[:2])
    assert "all 2 cases of smoke green (1 show nothing): pairs" in _text(whole[0], replace(whole[1], shows=False))


def test_no_strength_without_every_case_of_the_list(
    verdict: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two, _ = _listed(verdict, tmp_path, *CASES)
    skipped = replace(two, outcome=Outcome.NOT_RUN, expected=True, reason="needs gfx950")
    known = replace(two, outcome=Outcome.KNOWN_BUG, known_bug={"ticket": "1", "outcome": "MISMATCH"})
    other_list = replace(two, key=replace(two.key, case="bwd_data_x"))
    again = replace(two, key=replace(two.key, seed=1), outcome=Outcome.NOT_RUN, expected=True)
    for rest in ([], [skipped], [known], [other_list], [two, again]):
        text = _text(one, *rest)
        assert text.startswith("# bitgate: GREEN"), rest
        assert "1 cases green: not the whole list of a tier, so no strength is shown" in text, rest
    shorter = HEADER.replace("2 cases", "3 cases").replace("regression: 3", "regression: 4")
    assert "no strength is shown" in _text(*_listed(verdict, tmp_path, *CASES, header=shorter))


@pytest.mark.parametrize(
    "row", ["../solved.txt:3", "/etc/solved.txt:3", "solved.txt:", "a/solved.txt:9\x00", "solved.txt:٣"]
)
def test_a_list_outside_of_the_folder_is_not_read(verdict: Make, row: str) -> None:
    assert "solved list" not in _text(verdict(row=row))


def test_a_green_run_counts_seeds_schedules_and_fills(verdict: Make) -> None:
    weak = Certificate(9, 2**24, 0.1, 0.5, True)
    text = _text(verdict(), verdict(seed=1, fill="probe"), verdict(schedule="random:7", certificate=weak))
    assert "3 cases compared, 1 problems, 1 instances" in text
    for line in ("seeds: 0 (2), 1 (1)", "fills: exact (2), probe (1)", "schedules: forward (2), random (1)"):
        assert f"- {line}" in text
    assert "2 of 3 cases measured would show any single lost term" in text
    assert "What was shown" not in _text(verdict(), verdict(Outcome.MISMATCH, case="b"))


def test_a_history_says_what_is_new(
    verdict: Make, dropped: Verdict, run_folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old results are read into a history; the next night has one more failure, and one less."""
    monkeypatch.chdir(tmp_path)
    crash = verdict(Outcome.CRASHED, case="was_red", reason="worker ended by SIGSEGV")
    before = run_folder("before", dropped, crash)
    assert run(["history", "ingest", str(before), "--history", "h.sqlite"]) == 0
    now = run_folder("now", dropped, verdict(case="was_red"), verdict(Outcome.HUNG, case="new"))
    assert run(["report", str(now), "--out", "m", "--history", "h.sqlite"]) == 1
    text = (tmp_path / "m" / "summary.md").read_text().replace("\\", "")
    assert "1 new, 1 known, 1 fixed" in text
    assert "- **new**: 1 x HUNG" in text
    assert "- **known**: 1 x MISMATCH missing_sub_gemm on host" in text
    assert "- **fixed**: was_red grouped_bwd_data.t64x64x32 on host: was CRASHED" in text
    assert "**HUNG** on host, `grouped_bwd_data`, path `grouped` (**new**): 1 case" in text


ODD = ["<script>alert(1)</script>", "]]>", "</details>", "```\n# x", "|a|b|", "![x](http://x)", "[x](javascript:1)"]
ODD += ["\x1b[31m", "x" * 10**5, "http://evil.example", "\u202e", "<img src=x>", "`</details>`"]
HOSTILE = st.text(st.characters(), max_size=40) | st.sampled_from(ODD)


@settings(max_examples=15)
@given(st.lists(HOSTILE, min_size=8, max_size=8))
def test_hostile_texts_are_inert_and_bounded(verdict: Make, odd: list[str]) -> None:
    case, suite, target, kernel, kind, path, reason, ticket = odd
    red = verdict(
        Outcome.MISMATCH,
        case=case,
        suite=suite,
        target=target,
        kernel=kernel,
        reason=reason,
        row=reason,
        dispatch={"path": path},
        diagnosis=Diagnosis((kind,), reason),
    )
    known = replace(red, outcome=Outcome.KNOWN_BUG, known_bug={"ticket": ticket, "owner": reason, "expires": ticket})
    skip = verdict(
        Outcome.NOT_RUN, target=target, expected=True, reason=f"tolerated until 2099-12-31 ({kind}: {path}): x"
    )
    green = verdict(target=target, fill=kind, schedule=path, kernel=kernel, suite=suite)
    plain = summarise([Ledger(target, "smoke", tuple(map(AttemptEntry, (red, known, skip, green))))])
    since = SinceLast(plain.causes, plain.causes, (reason,), ticket)
    for text in (markdown(plain, since), _text(green, skip, known)):
        assert len(text.encode()) <= LIMIT
        shown = Shown(text)
        assert not shown.tags & {"script", "img", "a", "iframe", "style"}
        assert shown.ends["details"] == 1
        assert not re.search("[\x00-\x08\x1b\ud800-\udfff]", text)
        assert len({len(row) for row in shown.rows[:2]}) == 1
