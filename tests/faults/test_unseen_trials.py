"""The table of unseen defects in the documentation is what the file of their trials says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from bitgate.tools.faults.fault import Fault, read_faults
from bitgate.tools.faults.share import Share

ROOT = Path(__file__).parents[2]
UNSEEN = ROOT / "suites" / "faults" / "unseen"
TRIALS = [json.loads(line) for line in (UNSEEN / "trials.jsonl").read_text(encoding="utf-8").splitlines()]
OLDER = [trial for trial in TRIALS if trial["set"] in ("first", "third")]
FIFTH = [trial for trial in TRIALS if trial["set"] == "fifth"]
PAGE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")


def row(name: str, trials: Iterable[dict[str, str]]) -> str:
    """The row of a table: the share that was found of what a problem can show, with its interval, and the rest."""
    count = Counter(trial["fate"] for trial in trials)
    share = Share(count["found"], count["found"] + count["open"])
    low, high = share.interval
    found = (
        f"{share.part} of {share.whole}: {share.value:.2f} ({low:.2f} to {high:.2f})" if share.whole else "not measured"
    )
    rest = count["open"], count["nothing shows"], count["not reached"] + count["not tried"]
    return f"| {name} | {found} | {' | '.join(map(str, rest))} |"


@pytest.mark.parametrize("sources", sorted({trial["sources"] for trial in OLDER}))
def test_each_row_of_the_table_is_what_the_trials_say(sources):
    name = sources if sources == "shared headers" else f"`{sources}`"
    assert row(name, [trial for trial in OLDER if trial["sources"] == sources]) in PAGE


def of(sources: str) -> tuple[Share, str]:
    """The share of the fifth set's edits of some sources that were found, and its interval in words."""
    fate = Counter(trial["fate"] for trial in FIFTH if sources in ("", trial["sources"]))
    share = Share(fate["found"], fate["found"] + fate["open"])
    low, high = share.interval
    return share, f"({share.value:.2f}, {low:.2f} to {high:.2f})"


def test_the_fifth_set_is_told_as_its_trials_say():
    (every, interval), (shared, of_shared) = of(""), of("shared headers")
    opened = Counter(trial["sources"] for trial in FIFTH if trial["fate"] == "open")
    assert opened == {"shared headers": 2, "grouped_bwd_data": 1, "attention_bwd": 1}
    assert (
        f"smoke found {every.part} of the {every.whole} others that were tried and that a problem can show {interval}. "
        f"Of these, {shared.part} of {shared.whole} are in shared headers {of_shared}; "
        f"1 of {of('grouped_bwd_data')[0].whole} is open in `grouped_bwd_data`, "
        f"and 1 of {of('attention_bwd')[0].whole} in `attention_bwd`."
    ) in PAGE


@pytest.mark.parametrize("name", ["seventh", "eighth", "ninth", "tenth", "eleventh"])
def test_a_later_set_is_reported_as_its_trials_say(name):
    every = [trial for trial in TRIALS if trial["set"] == name]
    assert {trial["fault"] for trial in every} == {fault.name for fault in read_faults([UNSEEN / f"{name}.toml"])}
    shown = [trial for trial in every if trial["fate"] != "nothing shows"]
    trials = [trial for trial in shown if trial["fate"] != "open"]
    assert {trial["fate"] for trial in trials} == {"found"}
    share = Share(len(trials), len(shown))
    low, high = share.interval
    reported = f"{share.part} of {share.whole} ({share.value:.2f}, {low:.2f} to {high:.2f})"
    assert f"smoke on the host found {reported}" in PAGE
    said = Counter(trial["diagnosis"] for trial in trials)
    right = Share(said["right"], len(trials))
    low, high = right.interval
    named = f"{right.part}: {right.value:.2f} ({low:.2f} to {high:.2f})"
    assert f"| unseen | {named} | {said['partly']} | {said['none']} | {said['misleading']} |" in PAGE


def test_the_sums_of_the_tables_are_what_the_trials_say():
    assert row("third set alone", [trial for trial in OLDER if trial["set"] == "third"]) in PAGE
    assert row("both sets", OLDER) in PAGE


@pytest.mark.parametrize(("trials", "which"), [(OLDER, ""), (FIFTH, " of the fifth set")])
def test_reports_are_counted_as_the_trials_say(trials, which):
    count = Counter(trial["diagnosis"] for trial in trials if trial["fate"] == "found")
    said = f"{count['right']} name the mechanism, {count['partly']} a part of it, {count['none']} none, and"
    assert (
        f"Of the {count.total()} reports{which}, read against their edits, {said} {count['misleading']} another one."
        in PAGE
    )


def test_every_different_edit_has_a_trial():
    faults = read_faults([UNSEEN / "first.toml", UNSEEN / "third.toml"])
    tried = {trial["fault"] for trial in OLDER}
    edits = {(fault.file, fault.find, fault.replace) for fault in faults if fault.name in tried}
    assert len(OLDER) == len(edits) == len({(fault.file, fault.find, fault.replace) for fault in faults})


def test_every_edit_of_the_fifth_set_that_no_other_file_has_has_a_trial():
    older = [UNSEEN / f"{name}.toml" for name in ("first", "second", "third", "fourth")]
    known = {seeded(fault) for path in (*UNSEEN.parent.glob("*.toml"), *older) for fault in read_faults([path])}
    new = [fault.name for fault in read_faults([UNSEEN / "fifth.toml"]) if seeded(fault) not in known]
    assert sorted(trial["fault"] for trial in FIFTH) == sorted(new)


def seeded(fault: Fault) -> tuple[str, str]:
    """The file of a fault, and its text with the fault, without spaces."""
    return fault.file, "".join(fault.seeded(ROOT).split())


def test_the_sixth_set_is_told_as_its_trials_say():
    trials = [json.loads(line) for line in (UNSEEN / "sixth.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [trial["fault"] for trial in trials] == [fault.name for fault in read_faults([UNSEEN / "sixth.toml"])]
    fate = Counter(trial["fate"] for trial in trials)
    said = Counter(trial["diagnosis"] for trial in trials if trial["fate"] == "found")
    share = Share(fate["found"], fate["found"] + fate["open"])
    low, high = share.interval
    assert (
        f"The sixth has {len(trials)}. Smoke on the host found {share.part} of {share.whole} ({share.value:.2f}, "
        f"{low:.2f} to {high:.2f}) of those that were tried and that a problem can show; "
        f"{fate['nothing shows']} computes the same, and {fate['undecided']} are undecided, "
        "for the run was ended early: it counts first what is found soon. "
        f"Of the {said.total()} reports, {said['right']} name the mechanism, {said['partly']} a part of it, "
        f"{said['none']} none, and {said['misleading']} another one;"
    ) in PAGE
