"""For everything planned or recorded there is exactly one entry, whatever the files look like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.errors import UsageError
from bitgate.record import Outcome, Verdict
from bitgate.report.ledger import read_ledgers

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


def test_what_was_planned_and_not_recorded_is_lost(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), planned=[verdict(case="a"), verdict(), verdict(case="b")])
    (ledger,) = read_ledgers([folder])
    assert [(e.verdict.key.case, e.verdict.outcome) for e in ledger.entries] == [
        ("a", Outcome.LOST),
        (verdict().key.case, Outcome.PASS),
        ("b", Outcome.LOST),
    ]
    assert ledger.entries[0].verdict.device_kind == "cpu"


def test_a_run_that_died_before_its_first_verdict_lost_all(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", planned=[verdict(), verdict(case="a")])
    (ledger,) = read_ledgers([folder.parent])
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.LOST, Outcome.LOST]


def test_an_interrupted_run_says_not_run(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), planned=[verdict(), verdict(case="a")])
    (ledger,) = read_ledgers([folder], interrupted=True)
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.PASS, Outcome.NOT_RUN]
    assert not ledger.entries[1].verdict.green


def test_the_last_attempt_wins_and_the_earlier_ones_are_kept(verdict: Make, run_folder: Folder) -> None:
    first = run_folder("a", verdict(Outcome.MISMATCH), verdict(Outcome.CRASHED))
    second = run_folder("b", verdict())
    (ledger,) = read_ledgers([first, second])
    (entry,) = ledger.entries
    assert entry.verdict.outcome is Outcome.PASS
    assert entry.earlier == (Outcome.MISMATCH, Outcome.CRASHED)
    assert entry.changed


def test_one_case_asked_by_two_tests_is_two_entries(verdict: Make, run_folder: Folder) -> None:
    other = "suites/conv_bwd_data/test_dispatch.py::test_path[x]"
    (ledger,) = read_ledgers([run_folder("host", verdict(), verdict(test=other))])
    assert len(ledger.entries) == 2


def test_a_file_named_twice_counts_once(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict())
    (ledger,) = read_ledgers([folder, folder / "results.jsonl", folder.parent])
    assert [entry.earlier for entry in ledger.entries] == [()]


def test_targets_and_shards_are_kept_apart(verdict: Make, run_folder: Folder) -> None:
    run_folder("out/gfx942/s1of2", verdict(target="gfx942"))
    run_folder("out/gfx942/s2of2", verdict(target="gfx942", case="b"))
    folder = run_folder("out/host", verdict()).parent
    gfx942, host = read_ledgers([folder])
    assert (gfx942.target, gfx942.shards, len(gfx942.entries)) == ("gfx942", ("1of2", "2of2"), 2)
    assert (host.target, host.shards) == ("host", ())


def test_a_line_cut_by_a_crash_is_left_out_and_said(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict())
    with (folder / "results.jsonl").open("a") as stream:
        stream.write('{"schema": 1')
    (ledger,) = read_ledgers([folder])
    assert len(ledger.entries) == 1
    assert "last line was cut" in ledger.notes[0]


def test_a_result_that_nobody_planned_is_pointed_out(verdict: Make, run_folder: Folder) -> None:
    (ledger,) = read_ledgers([run_folder("host", verdict(), verdict(case="stray"), planned=[verdict()])])
    assert ledger.notes[0].endswith("1 results are not in the plan beside it, the first is stray")


@pytest.mark.parametrize("line", ["not json\n", "{}\n", '{"schema": 99}\n', "[]\n"])
def test_any_other_bad_line_is_named_by_file_and_line(verdict: Make, run_folder: Folder, line: str) -> None:
    folder = run_folder("host", verdict())
    with (folder / "results.jsonl").open("a") as stream:
        stream.write(line)
    with pytest.raises(UsageError, match=r"results\.jsonl:2: "):
        read_ledgers([folder])


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "cases": 3}'])
def test_a_bad_plan_is_named(verdict: Make, run_folder: Folder, text: str) -> None:
    folder = run_folder("host", verdict())
    (folder / "plan.json").write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json: "):
        read_ledgers([folder])


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bitgate run"):
        read_ledgers([tmp_path])
    with pytest.raises(UsageError, match="no such file"):
        read_ledgers([tmp_path / "nowhere"])
