"""A known bug must fail, as recorded, until it expires; whatever else its cases do is red."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.errors import UsageError
from bitgate.core.project import ours
from bitgate.kernel.declaration import KernelFamily
from bitgate.results.record import Diagnosis, Outcome, RecordError, Verdict, from_event, to_event
from bitgate.suite.known_bug_fields import _entry
from bitgate.suite.known_bugs import FILE, KnownBugs, read
from bitgate.suite.planning import Setting, plan_rows
from bitgate.suite.table import load_set
from bitgate.verify.planned import PlannedCase

ROWS = """[[case]]
name = "r"
why = "w"
pass = "bwd_data"
dtypes = "f16"
kernels = "toy.v4"
shape = ["n1k8c8_y3x3_h8x8", "n1k8c8_y3x3_h9x9_s2x2", "g2n1k8c8_y3x3_h9x9_s2x2"]
"""
ENTRY = """[[known_bug]]
where = { pass = "bwd_data", g = 1, strided = true, num_d = 0, ndim = 2 }
kernel = "toy.*"
target = "host"
verdict = "MISMATCH"
kind = "missing_sub_gemm"
owner = "ann"
ticket = "RL#7732"
expires = 2030-01-31
"""
LAST_DAY, DAY_AFTER = date(2030, 1, 31), date(2030, 2, 1)
DROPPED = Diagnosis(("missing_sub_gemm", "zero"), "sub-GEMMs 1 to 3 of 4 are missing")
Judge = Callable[..., Verdict]


@pytest.fixture
def tests(tmp_path: Path, family: KernelFamily) -> list[PlannedCase]:
    """A case of stride 1, one of stride 2, and one of stride 2 with two groups."""
    (tmp_path / "cases.toml").write_text(ROWS)
    setting = Setting("host", "host", {"toy": family})
    return plan_rows(load_set(tmp_path / "cases.toml"), setting, suite="toy_suite")


@pytest.fixture
def judged(tmp_path: Path, tests: list[PlannedCase], family: KernelFamily) -> Judge:
    """``judged(outcome, diagnosis, case=1)``: what the ledger makes of a verdict on that case."""

    def judge(
        outcome: Outcome,
        diagnosis: Diagnosis | None = None,
        case: int = 1,
        day: date = LAST_DAY,
        text: str = ENTRY,
        test: PlannedCase | None = None,
        **more: Any,
    ) -> Verdict:
        (tmp_path / FILE).write_text(text)
        bugs = KnownBugs()
        bugs.add_suite("toy_suite", tmp_path / "cases.toml")
        test = test or tests[case]
        verdict = Verdict(test.key, outcome, diagnosis=diagnosis, **more)
        return bugs.judged(verdict, test, today=day)

    return judge


def test_a_recorded_failure_is_green_with_all_its_output(judged: Judge) -> None:
    verdict = judged(Outcome.MISMATCH, DROPPED)
    assert (verdict.outcome, verdict.green, verdict.compared) == (Outcome.KNOWN_BUG, True, True)
    assert verdict.known_bug["outcome"] == "MISMATCH"
    assert verdict.diagnosis == DROPPED
    assert verdict.reason == f"RL#7732, ann, until 2030-01-31: {DROPPED.sentence}"
    assert from_event(to_event(verdict)) == verdict


@pytest.mark.parametrize("case", [0, 2])
def test_other_problems_are_none_of_its_business(judged: Judge, case: int) -> None:
    assert judged(Outcome.PASS, case=case).green
    assert judged(Outcome.MISMATCH, DROPPED, case=case).outcome is Outcome.MISMATCH


@pytest.mark.parametrize(
    ("outcome", "diagnosis", "day", "words"),
    [
        (Outcome.PASS, None, LAST_DAY, "RL#7732 .* did not fail: if it is fixed, remove the entry"),
        (Outcome.PASS, None, DAY_AFTER, "did not fail"),
        (
            Outcome.MISMATCH,
            Diagnosis(("border",), "s"),
            LAST_DAY,
            "records MISMATCH missing_sub_gemm, .* MISMATCH border",
        ),
        (Outcome.MISMATCH, Diagnosis(("zero", "missing_sub_gemm"), "s"), LAST_DAY, "is MISMATCH zero, another failure"),
        (Outcome.MISMATCH, None, LAST_DAY, "another failure"),
        (Outcome.CRASHED, Diagnosis(("missing_sub_gemm",), "s"), LAST_DAY, "and this is CRASHED missing_sub_gemm"),
        (Outcome.NONDETERMINISTIC, DROPPED, LAST_DAY, "another failure"),
        (Outcome.MISMATCH, DROPPED, DAY_AFTER, "expired on 2030-01-31: fix the kernel, or say until when"),
    ],
)
def test_whatever_else_happens_is_red_and_says_what_to_do(
    judged: Judge, outcome: Outcome, diagnosis: Diagnosis | None, day: date, words: str
) -> None:
    verdict = judged(outcome, diagnosis, day=day)
    assert verdict.outcome is outcome
    assert not verdict.green
    assert re.search(words, verdict.reason)
    assert not from_event(to_event(verdict)).green


@pytest.mark.parametrize("outcome", [Outcome.NOT_RUN, Outcome.LOST, Outcome.INFRA])
def test_a_case_that_did_not_run_says_nothing_about_the_bug(judged: Judge, outcome: Outcome) -> None:
    assert judged(outcome) == judged(outcome, text="")


def test_an_expired_entry_is_red_by_the_clock_too(judged: Judge) -> None:
    verdict = judged(Outcome.MISMATCH, DROPPED, text=ENTRY.replace("2030", "2020"), day=None)
    assert not verdict.green
    assert "expired on 2020-01-31" in verdict.reason


def test_options_decide_whether_an_entry_is_about_a_case(judged: Judge, tests: list[PlannedCase]) -> None:
    gated = ENTRY + 'options = { gate = "off" }\n'
    assert judged(Outcome.PASS, text=gated).green  # production has the gate on
    kernel = replace(tests[1].kernel, options=(("gate", "off"),))
    toggled = replace(tests[1], kernel=kernel)
    assert judged(Outcome.MISMATCH, DROPPED, text=gated, test=toggled).outcome is Outcome.KNOWN_BUG
    assert not judged(Outcome.PASS, text=gated, test=toggled).green


@pytest.mark.parametrize(
    ("stated", "covered"),
    [("gfx942", True), ("gfx942:xnack-", True), ("gfx9*", True), ("gfx942:xnack+", False), ("gfx950", False)],
)
def test_a_bug_of_a_gpu_is_known_with_any_of_its_features(
    tmp_path: Path, tests: list[PlannedCase], stated: str, covered: bool
) -> None:
    path = tmp_path / FILE
    path.write_text(ENTRY.replace('"host"', f'"{stated}"'))
    (entry,) = read(path)
    on_gpu = replace(tests[1], target="gfx942_xnack-")
    assert entry.covers(on_gpu) is covered


def test_of_several_entries_the_one_of_the_failure_counts(judged: Judge) -> None:
    crash = ENTRY.replace('"MISMATCH"\nkind = "missing_sub_gemm"', '"CRASHED"').replace("7732", "1")
    assert judged(Outcome.CRASHED, text=ENTRY + crash).known_bug["ticket"] == "RL#1"
    assert judged(Outcome.MISMATCH, DROPPED, text=crash + ENTRY).known_bug["ticket"] == "RL#7732"
    assert not judged(Outcome.PASS, text=ENTRY + crash).green


def test_an_exact_case_may_replace_a_predicate_in_any_spelling(judged: Judge) -> None:
    short = ENTRY.replace(ENTRY.splitlines()[1], 'case = "bwd_data_f16_nhwgc_n1k8c8_y3_h9_s2"')
    assert judged(Outcome.MISMATCH, DROPPED, text=short).outcome is Outcome.KNOWN_BUG
    assert judged(Outcome.MISMATCH, DROPPED, case=2, text=short).outcome is Outcome.MISMATCH


FLAKY = 'flaky = "7 of 60 nights, all on node4"\nsince = 2030-01-10\nmachine = "node4*"\n'
NODE4, NODE5 = {"host": "node4.lab"}, {"host": "node5.lab"}


def test_a_flaky_case_is_quarantined_on_machines_with_evidence(judged: Judge) -> None:
    quarantined = ENTRY + FLAKY
    there = judged(Outcome.MISMATCH, DROPPED, text=quarantined, fingerprint=NODE4)
    assert (there.outcome, there.green) == (Outcome.KNOWN_BUG, True)
    assert judged(Outcome.PASS, text=quarantined, fingerprint=NODE4) == judged(Outcome.PASS, text="", fingerprint=NODE4)
    assert judged(Outcome.MISMATCH, DROPPED, text=quarantined, fingerprint=NODE5).outcome is Outcome.MISMATCH
    other = judged(Outcome.CRASHED, text=quarantined, fingerprint=NODE4)
    assert not other.green
    assert "another failure" in other.reason


@pytest.mark.parametrize("outcome", [Outcome.MISMATCH, Outcome.PASS])
def test_an_expired_quarantine_is_red_whatever_the_case_does(judged: Judge, outcome: Outcome) -> None:
    text = ENTRY + FLAKY
    verdict = judged(outcome, None if outcome is Outcome.PASS else DROPPED, text=text, day=DAY_AFTER, fingerprint=NODE4)
    assert not verdict.green
    assert re.search("expired on 2030-01-31|was quarantined until 2030-01-31", verdict.reason)


def test_a_bug_that_fails_each_time_may_be_one_of_a_machine(judged: Judge) -> None:
    text = ENTRY + 'machine = ["node4*", "node7"]\n'
    assert not judged(Outcome.PASS, text=text, fingerprint=NODE4).green
    assert judged(Outcome.PASS, text=text, fingerprint=NODE5).green


def test_ledgers_around_a_suite_and_beside_a_kernel_count_too(tmp_path: Path) -> None:
    for folder in ("suites", "suites/a", "kernel"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / FILE).write_text(ENTRY)
    bugs = KnownBugs()
    bugs.add_suite("a", tmp_path / "suites" / "a" / "cases.toml")
    bugs.add_project(ours().loading([tmp_path / "kernel" / "declaration.py"]))
    assert [len(found) for found in (*bugs.by_suite["a"].values(), *bugs.of_all.values())] == [1, 1, 1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("owner =", "ownr =", "ownr: no such field; did you mean 'owner'?"),
        ('owner = "ann"\n', "", "owner: is missing; who fixes it"),
        ('"ann"', '""', "owner: '' is not a text"),
        ("2030-01-31", '"soon"', "expires: soon is not a date such as 2030-01-31"),
        ("2030-01-31", "2030-01-31T00:00:00Z", "is not a date"),
        ('"MISMATCH"', '"PASS"', "verdict: 'PASS' is not one of "),
        ('"MISMATCH"', "[]", "verdict: [] is not one of "),
        ('kind = "missing_sub_gemm"\n', "", "kind: is missing; say as what a MISMATCH is diagnosed"),
        ('"missing_sub_gemm"', '"missing_subgemm"', "did you mean 'missing_sub_gemm'?"),
        ('"host"', '"gfx94"', "target: no target is called 'gfx94'"),
        ('"host"', "1", "target: 1 is neither a text"),
        ("g = 1", "g = true", "where: g: True is not a number"),
        ("g = 1", "groups = 1", "where: groups: no such property of a problem"),
        ("g = 1", "g = { least = 2 }", "where: g: a range is { min = 2 }"),
        ("strided = true", "strided = 1", "where: strided: 1 is not true or false"),
        ('"bwd_data"', '"bwd_dta"', "where: pass: 'bwd_dta' is not known; did you mean 'bwd_data'?"),
        ("num_d = 0", 'dtypes = "f17"', "where: dtypes: 'f17'"),
        ("num_d = 0", 'filter = "3,3"', "where: filter: '3,3' is not like '3x3'"),
        ("num_d = 0", "k = []", "where: k: is an empty list"),
        ("[[known_bug]]", "[[known_bugs]]", "write [[known_bug]] above each entry"),
        ("[[known_bug]]", "[known_bug]", "write [[known_bug]] above each entry"),
        ("where =", 'case = "bwd_data_f16"\nwhere =', "case: "),
        ("where = {", "# {", "where: is missing; say which problems fail"),
        ('"toy.*"', "{}", "kernel: {} is neither a text"),
        ("expires", "options = 3\nexpires", "options: give a table"),
        ("expires", 'flaky = "often"\nexpires', "since: is missing next to flaky; the day of that finding"),
        ("expires", "since = 2030-01-01\nexpires", "flaky: is missing next to since; what shows that it fails now"),
        (
            "expires",
            'flaky = "often"\nsince = 2029-12-31\nexpires',
            "is 31 days after since: a flaky case is quarantined for 30",
        ),
        ("expires", 'flaky = "often"\nsince = 2030-02-01\nexpires', "is -1 days after since"),
        ("expires", "machine = []\nexpires", "machine: is an empty list"),
        (
            "expires",
            'fill = "exct"\nexpires',
            "peaked, flat, negative, late, sparse, edges, wrap, infinite; did you mean 'exact'?",
        ),
    ],
)
def test_a_bad_entry_says_where_and_what(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / FILE
    path.write_text("# a comment\n" + ENTRY.replace(old, new, 1))
    with pytest.raises(UsageError) as raised:
        read(path)
    assert words in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(["where", "case", "kernel", "target", "options", "fill", "verdict", "kind", "owner", "expires"]),
    VALUES,
)
def test_odd_values_are_a_usage_error_or_understood(field: str, value: object) -> None:
    row = {"where": {"g": 1}, "kernel": "*", "target": "*", "verdict": "CRASHED", "owner": "a", "ticket": "t"}
    said: list[str] = []
    try:
        _entry(row | {"expires": date(2030, 1, 1), field: value}, Path("x.toml"), 1)
    except UsageError as error:
        said.append(str(error))
    assert all(line.startswith("x.toml:1: [[known_bug]]: ") for line in said)


def test_a_record_cannot_name_an_outcome_that_there_is_not(judged: Judge) -> None:
    event = to_event(judged(Outcome.MISMATCH, DROPPED))
    event["known_bug"]["outcome"] = "FINE"
    with pytest.raises(RecordError):
        from_event(event)
