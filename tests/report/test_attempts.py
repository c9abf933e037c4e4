"""Attempts are ordered by what they say of themselves; an answer that changes is red, whichever came last."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from bitgate.results.record import UNKNOWN, Outcome, Stamp, Verdict
from bitgate.results.report.attempts import jobs_of
from bitgate.results.report.ledger import Ledger, read_ledgers

Make = Callable[..., Verdict]
Folder = Callable[..., Path]


def _stamp(attempt: int, minute: int = 0, run: str = "night", job: str = "") -> Stamp:
    return Stamp(run, attempt, f"2026-11-21T01:{minute:02}:00+00:00", job)


def _read(*folders: Path) -> Ledger:
    (ledger,) = read_ledgers(folders)
    return ledger


@pytest.mark.parametrize("names", list(permutations(["a", "b", "c"])))
def test_the_highest_attempt_is_the_last_wherever_it_lies(
    verdict: Make, run_folder: Folder, names: tuple[str, ...]
) -> None:
    first, second, third = names
    run_folder(first, verdict(Outcome.INFRA, run=_stamp(1)))
    run_folder(second, verdict(Outcome.INFRA, run=_stamp(2)))
    ledger = _read(run_folder(third, verdict(run=_stamp(3))).parent)
    (entry,) = ledger.entries
    assert entry.verdict.outcome is Outcome.PASS
    assert entry.earlier == (Outcome.INFRA, Outcome.INFRA)
    assert not ledger.findings


def test_within_one_attempt_and_file_time_decides(verdict: Make, run_folder: Folder) -> None:
    folder = run_folder("a", verdict(run=_stamp(1, 30)), verdict(Outcome.INFRA, run=_stamp(1, 10)))
    (entry,) = _read(folder).entries
    assert (entry.verdict.outcome, entry.earlier) == (Outcome.PASS, (Outcome.INFRA,))


def test_lines_of_before_there_were_stamps_stand_in_order(verdict: Make, run_folder: Folder) -> None:
    (entry,) = _read(run_folder("a", verdict(Outcome.INFRA), verdict())).entries
    assert (entry.verdict.outcome, entry.earlier) == (Outcome.PASS, (Outcome.INFRA,))


@pytest.mark.parametrize("order", [(Outcome.MISMATCH, Outcome.PASS), (Outcome.PASS, Outcome.MISMATCH)])
def test_an_answer_that_changed_is_red_in_either_order(
    verdict: Make, run_folder: Folder, order: tuple[Outcome, Outcome]
) -> None:
    run_folder("a", verdict(order[0], run=_stamp(1)))
    (entry,) = _read(run_folder("b", verdict(order[1], run=_stamp(2))).parent).entries
    assert not entry.verdict.green
    assert entry.changed


def test_a_change_from_red_to_green_names_both_attempts(verdict: Make, run_folder: Folder) -> None:
    run_folder("a", verdict(Outcome.MISMATCH, run=_stamp(1)))
    (entry,) = _read(run_folder("b", verdict(run=_stamp(2))).parent).entries
    assert entry.verdict.outcome is Outcome.NONDETERMINISTIC
    assert "MISMATCH in attempt 1, then PASS in attempt 2" in entry.verdict.reason


def test_two_passes_with_different_bits_are_red(verdict: Make, run_folder: Folder) -> None:
    run_folder("a", verdict(digest="bg1:aa", run=_stamp(1)))
    (entry,) = _read(run_folder("b", verdict(digest="bg1:bb", run=_stamp(2))).parent).entries
    assert entry.verdict.outcome is Outcome.NONDETERMINISTIC


def test_another_build_may_answer_otherwise(verdict: Make, run_folder: Folder) -> None:
    run_folder("a", verdict(Outcome.MISMATCH, fingerprint={"build": "old"}, run=_stamp(1)))
    ledger = _read(run_folder("b", verdict(fingerprint={"build": "new"}, run=_stamp(2))).parent)
    assert ledger.entries[0].verdict.outcome is Outcome.PASS
    assert not ledger.findings


@pytest.mark.parametrize("ended", [Outcome.CRASHED, Outcome.HUNG])
@pytest.mark.parametrize(("run", "is_green"), [("night", False), ("tomorrow", True)])
def test_a_process_that_died_knows_no_build(
    verdict: Make, run_folder: Folder, ended: Outcome, run: str, is_green: bool
) -> None:
    died = verdict(ended, fingerprint={"build": UNKNOWN}, run=_stamp(1, job="x"))
    (entry,) = _read(run_folder("a", died, verdict(run=_stamp(2, 5, run=run, job="x")))).entries
    assert entry.verdict.green is is_green


def test_what_was_not_built_has_no_build(verdict: Make, run_folder: Folder) -> None:
    failed = verdict(Outcome.BUILD_FAILED, fingerprint={"build": UNKNOWN}, run=_stamp(1))
    (entry,) = _read(run_folder("a", failed, verdict(run=_stamp(1, 5)))).entries
    assert entry.verdict.outcome is Outcome.PASS


@pytest.mark.parametrize("later", [Outcome.INFRA, Outcome.NOT_RUN])
def test_a_finding_outlives_an_attempt_without_an_answer(verdict: Make, run_folder: Folder, later: Outcome) -> None:
    first = run_folder("a", verdict(Outcome.MISMATCH, run=_stamp(1)))
    (entry,) = _read(first, run_folder("b", verdict(later, run=_stamp(2)))).entries
    assert entry.verdict.outcome is Outcome.MISMATCH


def test_an_attempt_that_did_not_run_takes_no_answer_back(verdict: Make, run_folder: Folder) -> None:
    run_folder("a", verdict(Outcome.MISMATCH, run=_stamp(1)))
    (entry,) = _read(run_folder("b", verdict(Outcome.NOT_RUN, expected=True, run=_stamp(2))).parent).entries
    assert entry.verdict.outcome is Outcome.MISMATCH


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, None),
        (_stamp(1), _stamp(1, 5)),
        (_stamp(1), _stamp(2, 5, run="another night")),
        (_stamp(1, job="x"), _stamp(1, 5, job="y")),
        (None, _stamp(1)),
    ],
)
def test_one_case_from_two_jobs_is_red(
    verdict: Make, run_folder: Folder, one: Stamp | None, other: Stamp | None
) -> None:
    run_folder("s1of2", verdict(run=one))
    ledger = _read(run_folder("s2of2", verdict(run=other)).parent)
    (finding,) = ledger.findings
    assert finding.kind == "Duplicated"
    assert "s1of2" in finding.sentence
    assert "s2of2" in finding.sentence


def test_a_record_continued_in_a_copy_is_of_one_job(verdict: Make, run_folder: Folder) -> None:
    lines = [verdict(case=name, run=_stamp(1, job="x")) for name in ("a", "b")]
    run_folder("uploaded", lines[0])
    ledger = _read(run_folder("later", *lines).parent)
    assert [entry.earlier for entry in ledger.entries] == [(), ()]
    assert not ledger.findings


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_copy_that_answers_otherwise_is_none(verdict: Make, run_folder: Folder, names: tuple[str, str]) -> None:
    """Whichever file is read first."""
    run_folder(names[0], verdict(run=_stamp(1, job="x")))
    (entry,) = _read(run_folder(names[1], verdict(Outcome.MISMATCH, run=_stamp(1, job="x"))).parent).entries
    assert not entry.verdict.green


def test_files_are_of_one_job_if_a_third_links_them() -> None:
    a, b = ("night", "a"), ("night", "b")
    assert jobs_of([frozenset({a}), frozenset({b}), frozenset(), frozenset({a, b})]) == [0, 0, 2, 0]


@pytest.mark.parametrize(("run", "outcome"), [("night", Outcome.NONDETERMINISTIC), ("tomorrow", Outcome.PASS)])
def test_what_a_test_alone_found_may_be_mended_in_another_run(
    verdict: Make, run_folder: Folder, run: str, outcome: Outcome
) -> None:
    found = "the verdict alone was PASS, but test_path failed: assert 1 == 2"
    first = verdict(Outcome.MISMATCH, reason=found, run=_stamp(1, job="x"))
    (entry,) = _read(run_folder("a", first, verdict(run=_stamp(1, 5, run=run, job="y")))).entries
    assert entry.verdict.outcome is outcome
