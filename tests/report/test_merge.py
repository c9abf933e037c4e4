"""Several targets and shards in one report, and the exit codes that follow from what is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from bitgate.cli.main import run
from bitgate.results.record import Outcome, Verdict, append
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.markdown import markdown
from bitgate.results.report.render import merge, render
from bitgate.results.report.summary import summarise

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


def test_one_file_a_target_and_one_merged(verdict: Make, dropped: Verdict, run_folder: Folder, tmp_path: Path) -> None:
    files = [run_folder("a", verdict(), dropped), run_folder("b", verdict(target="gfx942"))]
    summary = merge(files, tmp_path / "out")
    single = [JUnitXml.fromfile(str(tmp_path / "out" / target / "junit.xml")) for target in ("host", "gfx942")]
    both = JUnitXml.fromfile(str(tmp_path / "out" / "junit.xml"))
    assert both.tests == sum(xml.tests for xml in single) == 3
    assert both.failures == 1
    assert {suite.name for suite in both} == {"bitgate.conv_bwd_data.host", "bitgate.conv_bwd_data.gfx942"}
    assert summary.exit_code == 1


def test_merging_again_changes_nothing(verdict: Make, dropped: Verdict, run_folder: Folder, tmp_path: Path) -> None:
    files = [run_folder("a", verdict(), dropped), run_folder("b", verdict(target="gfx942"))]
    merge(files, tmp_path / "once")
    merge([*files, *files], tmp_path / "twice")
    for name in ("junit.xml", "summary.md", "host/junit.xml"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()


def test_a_target_that_never_reported_is_red(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    summary = merge([run_folder("a", verdict())], tmp_path / "out", expected_targets=["host", "gfx942"])
    assert summary.exit_code == 1
    assert "nothing was compared on gfx942" in summary.headline
    assert JUnitXml.fromfile(str(tmp_path / "out" / "gfx942" / "junit.xml")).errors == 1


@given(st.lists(st.tuples(st.sampled_from(list(Outcome)), st.booleans()), max_size=5))
def test_exit_codes_follow_from_the_verdicts(verdict: Make, outcomes: list[tuple[Outcome, bool]]) -> None:
    verdicts = [verdict(outcome, case=str(n), expected=expected) for n, (outcome, expected) in enumerate(outcomes)]
    code = summarise([Ledger("host", "smoke", tuple(map(AttemptEntry, verdicts)))]).exit_code
    red = [one for one in verdicts if not one.green]
    if any(not one.outcome.is_unanswered for one in red):
        assert code == 1
    elif not any(one.compared for one in verdicts):
        assert code == 3
    else:
        assert code == (1 if red else 0)


def test_render_without_any_result_is_red(tmp_path: Path) -> None:
    summary = render(tmp_path, tier="smoke", target="host")
    assert summary.exit_code == 3
    assert "nothing was compared" in (tmp_path / "summary.md").read_text()
    assert JUnitXml.fromfile(str(tmp_path / "junit.xml")).errors == 1


def test_a_run_names_the_commit_of_its_record(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(fingerprint={"commit": "c0ffee-dirty"}))
    render(folder, tier="smoke", target="host")
    (suite,) = JUnitXml.fromfile(str(folder / "junit.xml"))
    assert [p.value for p in suite.properties() if p.name == "vcs.commit"] == ["c0ffee-dirty"]


def test_the_summary_shows_reds_with_sentence_and_repro(verdict: Make, dropped: Verdict, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), dropped, verdict(case="c"), planned=[verdict(), dropped, verdict(case="c")])
    render(folder, tier="smoke", target="host")
    text = (folder / "summary.md").read_text()
    assert text.startswith("# bitgate: RED: 1 of 3 verdicts on host (smoke)\n")
    assert dropped.diagnosis
    assert dropped.diagnosis.sentence in text
    assert f"    {dropped.repro}\n" in text
    assert "| host | host, 2 threads (cpu) | 3 | 2 | 3 | 2 | 1 |" in text
    assert "| host | os | its os |" in text


def test_an_interrupted_run_reports_only_what_it_found(verdict: Make, dropped: Verdict, run_folder: Folder) -> None:
    unreached = [verdict(case=f"c{n}") for n in range(3)]
    folder = run_folder("host", verdict(), dropped, planned=[verdict(), dropped, *unreached])
    render(folder, tier="smoke", target="host", interrupted=True)
    text = (folder / "summary.md").read_text()
    assert text.startswith("# bitgate: INTERRUPTED: 2 of 5 verdicts on host (smoke), 1 of them red\n")
    assert text.count("**MISMATCH**") == 1
    assert "NOT_RUN**" not in text
    assert "NOT_RUN 3" in text


def test_a_thousand_reds_do_not_bury_the_first(verdict: Make) -> None:
    entries = tuple(AttemptEntry(verdict(Outcome.MISMATCH, kernel=f"family{n}")) for n in range(1000))
    text = markdown(summarise([Ledger("host", "smoke", entries)]))
    assert text.count("**MISMATCH**") == 50
    assert "950 more" in text


def test_an_answer_that_changed_is_pointed_out(verdict: Make, run_folder: Folder, tmp_path: Path) -> None:
    merge([run_folder("a", verdict(Outcome.MISMATCH), verdict())], tmp_path)
    assert "MISMATCH, then PASS" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    ("outcome", "code"), [(Outcome.PASS, 0), (Outcome.MISMATCH, 1), (Outcome.NOT_RUN, 3), (Outcome.LOST, 3)]
)
def test_the_command_prints_one_json_document_and_exits_with_it(
    verdict: Make, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str], outcome: Outcome, code: int
) -> None:
    folder = run_folder("host", verdict(outcome, expected=True))
    assert run(["report", str(folder), "--out", str(tmp_path / "o"), "--json"]) == code
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["exit_code"] == code
    assert summary["outcomes"] == {outcome.value: 1}


def test_a_file_that_holds_nothing_readable_is_red_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.jsonl").write_text("no\n")
    assert run(["report", str(tmp_path), "--out", str(tmp_path / "o")]) == 3
    assert "results.jsonl:1: not JSON" in capsys.readouterr().out
    assert JUnitXml.fromfile(str(tmp_path / "o" / "junit.xml")).errors == 1
    assert "results.jsonl:1: " in (tmp_path / "o" / "summary.md").read_text()


def test_reds_of_one_cause_are_reported_once_with_their_count(verdict: Make, dropped: Verdict) -> None:
    reds = [replace(dropped, key=replace(dropped.key, seed=seed)) for seed in range(300)]
    other = verdict(Outcome.CRASHED, case="b", reason="out of bounds by 1 element", dispatch={"path": "flat"})
    text = markdown(summarise([Ledger("host", "smoke", tuple(map(AttemptEntry, [other, *reds])))]))
    assert text.count("**MISMATCH**") == text.count("**CRASHED**") == 1
    told = "**MISMATCH** (missing\\_sub\\_gemm) on host, `grouped_bwd_data`, path `grouped`: 300 cases"
    assert text.index(told) < text.index("**CRASHED**")
    assert text.count("instead of") == 10
    assert "- g 0, n 0, c 0, h 0, w 10: 0 instead of 22" in text
    assert "suites/conv\\_bwd\\_data/cases.toml:17" in text


def test_no_section_makes_the_summary_too_long(verdict: Make) -> None:
    """Each list that a record can make long, at once: GitHub shows nothing of a summary above 1 MiB."""
    long = "w" * 20_000
    reds = [
        verdict(
            Outcome.MISMATCH,
            kernel=f"k{n}",
            suite=f"s{n}{long}",
            reason=long,
            human=long,
            repro=long,
            device_name=long,
            fingerprint={f"f{n}": long, "build": f"b{n}"},
        )
        for n in range(1500)
    ]
    known = [verdict(Outcome.KNOWN_BUG, case=f"{n}", known_bug={"ticket": f"{n}{long}"}) for n in range(1500)]
    entries = [AttemptEntry(one, (Outcome.PASS, Outcome.CRASHED)) for one in [*reds, *known]]
    ledgers = [Ledger(f"t{n}", "smoke", tuple(entries), notes=(long,) * 3000) for n in range(3)]
    text = markdown(summarise(ledgers))
    assert len(text.encode()) <= 900 * 1024
    for section in ("## Red", "## Known bugs", "## Changed", "## Suites", "## Environment"):
        assert section in text


def test_a_record_cannot_write_markup_into_the_summary(verdict: Make) -> None:
    odd = "a|b`c\n# not a heading\n<img src=x onerror=alert(1)> [l](javascript:x) \x1b[0m"
    red = verdict(
        Outcome.MISMATCH,
        reason=odd,
        human=odd,
        repro=odd,
        row=odd,
        kernel=odd,
        device_name=odd,
        suite=odd,
        options=((odd, odd),),
        fingerprint={odd: odd},
    )
    text = markdown(summarise([Ledger("host", "smoke", (AttemptEntry(red, (Outcome.PASS,)),), notes=(odd,))]))
    rendered = "\n".join(line for line in text.splitlines() if not line.startswith("    "))  # all but literal blocks
    assert "<img" not in rendered
    assert "\x1b" not in text
    assert not re.search(r"^# not", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)\[l\]\(", rendered)
    for heading in ("## Suites", "## Environment"):
        table = text.partition(heading)[2].strip().splitlines()
        assert (
            len({len(re.findall(r"(?<!\\)\|", row)) for row in table[: table.index("") if "" in table else None]}) == 1
        )


def test_a_nights_record_is_not_called_smoke_for_its_first_case(verdict: Make, tmp_path: Path) -> None:
    for tier in ("smoke", "regression"):
        append(tmp_path / "results.jsonl", verdict(case=f"fwd_f32_nwgc_g1n1k1c1_y1_h{len(tier)}", tier=tier))
    assert merge([tmp_path], tmp_path / "merged").tier == "regression"
