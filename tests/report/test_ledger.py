"""For everything planned or recorded there is exactly one entry, whatever the files look like."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.results.record import FINGERPRINT, UNKNOWN, Outcome, RecordError, Verdict, from_event, to_event
from bitgate.results.report.ledger import read_ledgers

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
    lost = ledger.entries[0].verdict
    assert lost.device_kind == "cpu"
    assert lost.row == "suites/conv_bwd_data/cases.toml:17"
    assert lost.fingerprint == dict.fromkeys(FINGERPRINT, UNKNOWN)  # it is unknown where it would have run


def test_a_run_that_died_before_its_first_verdict_lost_all(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", planned=[verdict(), verdict(case="a")])
    (ledger,) = read_ledgers([folder.parent])
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.LOST, Outcome.LOST]


def test_an_interrupted_run_says_not_run(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), planned=[verdict(), verdict(case="a")])
    (ledger,) = read_ledgers([folder], interrupted=True)
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.PASS, Outcome.NOT_RUN]
    assert not ledger.entries[1].verdict.green


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


def test_a_line_cut_by_a_crash_is_red_and_the_others_count(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict())
    with (folder / "results.jsonl").open("a") as stream:
        stream.write('{"schema": 1')
    (ledger,) = read_ledgers([folder])
    assert len(ledger.entries) == 1
    (finding,) = ledger.findings
    assert finding.sentence.endswith("results.jsonl:2: the line is cut: its writer died, or the disk was full")


def test_a_result_that_nobody_planned_is_pointed_out(verdict: Make, run_folder: Folder) -> None:
    (ledger,) = read_ledgers([run_folder("host", verdict(), verdict(case="stray"), planned=[verdict()])])
    assert ledger.notes[0].endswith("1 results are not in the plan beside it, the first is stray")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"not json\n", "not JSON"),
        (b"{}\n", "schema"),
        (b'{"schema": 99}\n', "schema 99 is not 1"),
        (b"[]\n", "not a result event"),
        (b"\xff\xfe\n", "not UTF-8 at byte 0"),
        (b"[" * 5000 + b"]" * 5000 + b"\n", "nested deeper"),
        (b"9" * 5000 + b"\n", "not JSON"),
        (b"\n", "not JSON"),
    ],
)
def test_any_other_bad_line_is_one_red_entry(verdict: Make, run_folder: Folder, line: bytes, said: str) -> None:
    folder = run_folder("host", verdict())
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(line)
    run_folder("host", verdict(case="b"))
    (ledger,) = read_ledgers([folder])
    assert len(ledger.entries) == 2
    (finding,) = ledger.findings
    assert "results.jsonl:2: " in finding.sentence
    assert said in finding.sentence


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("target", "../../x", "$.target"),
        ("target", "a/b", "$.target"),
        ("case", "a b", "$.case"),
        ("kernel", "..", "$.kernel"),
        ("suite", "/etc", "$.suite"),
        ("seed", True, "$.seed"),
        ("seed", -1, "$.seed"),
        ("seed", 10**400, "$.seed"),
        ("options", {"a": 1}, "$.options"),
        ("seconds", {"total": "1"}, "$.seconds"),
        ("seconds", {"total": float("inf")}, "$.seconds"),
        ("verdict", "GREEN", "$.verdict"),
        ("human", "\ud800", "surrogate"),
        ("fingerprint", {"build": 3}, "$.fingerprint"),
        ("certificate", {"bound": 1}, "$.certificate"),
        ("run", {"id": "1", "attempt": 1, "time": "noon"}, "noon"),
        ("run", {"id": "1", "attempt": 1, "time": "2026-01-01T00:00:00"}, "no zone"),
        ("run", {"id": "1", "attempt": "1", "time": "2026-01-01T00:00:00Z"}, "$.run.attempt"),
    ],
)
def test_a_field_of_another_type_is_named(
    verdict: Make, run_folder: Folder, where: str, value: object, said: str
) -> None:
    folder = run_folder("host", verdict())
    odd = json.dumps({**to_event(verdict(case="b")), where: value})
    (folder / "results.jsonl").open("a").write(odd + "\n")
    (ledger,) = read_ledgers([folder])
    assert len(ledger.entries) == 1
    assert said in ledger.findings[0].sentence


def test_a_file_full_of_bad_lines_is_one_red_entry(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), planned=[verdict()])
    (folder / "results.jsonl").write_bytes(b"\x00\n" * 1000)
    (ledger,) = read_ledgers([folder])
    (finding,) = ledger.findings
    assert "1000 lines cannot be read, the first is line 1" in finding.sentence
    assert [entry.verdict.outcome for entry in ledger.entries] == [Outcome.LOST]


def test_a_pipe_in_place_of_results_is_named(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("host", verdict(), planned=[verdict()])
    (folder / "results.jsonl").unlink()
    os.mkfifo(folder / "results.jsonl")
    (ledger,) = read_ledgers([folder.parent])
    assert "not a file" in ledger.findings[0].sentence


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "cases": 3}', "\ud800"])
def test_a_bad_plan_is_one_red_entry(verdict: Make, run_folder: Folder, text: str) -> None:
    folder = run_folder("host", verdict())
    (folder / "plan.json").write_text(text, errors="surrogatepass")
    (ledger,) = read_ledgers([folder])
    assert len(ledger.entries) == 1
    assert "plan.json: " in ledger.findings[0].sentence


def test_a_folder_without_results_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bitgate run"):
        read_ledgers([tmp_path])
    with pytest.raises(UsageError, match="no such file"):
        read_ledgers([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"known_bug": None}, "not by which entry of a ledger: ticket, owner, expires, outcome is missing"),
        ({"outcome": "PASS"}, "ended in PASS, which is no failure"),
        ({"expires": "2026-11-20"}, "by an entry that had expired (2026-11-20) when it ran (2026-11-21)"),
    ],
)
def test_a_record_cannot_call_itself_a_known_bug(verdict: Make, change: dict[str, str | None], words: str) -> None:
    entry = {"ticket": "X#1", "owner": "ann", "expires": "2026-11-21", "outcome": "MISMATCH"}
    event = to_event(verdict(Outcome.KNOWN_BUG, known_bug=entry))
    event["run"] = {"id": "r", "attempt": 1, "time": "2026-11-21T10:00:00+00:00"}
    assert from_event(event).green
    event["known_bug"] = {} if "known_bug" in change else {**entry, **change}
    with pytest.raises(RecordError, match=re.escape(words)):
        from_event(event)


def test_a_line_that_says_pass_and_not_green_is_no_pass(verdict: Make) -> None:
    event = to_event(verdict())
    assert from_event(event).green
    with pytest.raises(RecordError, match="it says PASS, and that it is not green"):
        from_event({**event, "green": False})


def test_cells_that_the_host_ran_in_a_gpus_place_say_so(verdict: Make, run_folder: Folder) -> None:
    (ledger,) = read_ledgers([run_folder("host_for_gfx942", verdict(target="host_for_gfx942"))])
    assert ledger.notes == (
        "host_for_gfx942: the host ran these in the place of gfx942; they say nothing about gfx942",
    )
