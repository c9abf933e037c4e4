"""``bitgate history`` and ``bitgate triage``, as one types them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.history.nights import Lab, Planted, key_of, write

from bitgate.cli.main import run
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.store import opened
from bitgate.results.record import Outcome, Stamp, Verdict
from bitgate.suite import durations as tables

CASE = key_of(1, "gfx942").case


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command and gives what it printed; of ``--json`` the document."""

    def called(*arguments: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert run([*arguments]) == code
        out = capsys.readouterr().out
        return json.loads(out) if "--json" in arguments else out

    return called


def remember(url: str, folder: Path, *nights: list[Verdict]) -> None:
    with opened(url) as store:
        for number, night in enumerate(nights):
            for _ in ingest(store, [write(folder / f"{number}" / "results.jsonl", night)]):
                pass


def test_the_trend_of_a_case(url: str, tmp_path: Path, said: Any) -> None:
    lab = Lab(cases=3, planted=Planted(broken=((1,), 3)))
    nights = [lab.night(number) for number in range(5)]
    nights[1] = [replace(one, digest="bg1:other") if one.key.case == CASE else one for one in nights[1]]
    remember(url, tmp_path, *nights)
    document = said("history", "case", CASE, "--target", "gfx942", "--history", url, "--json")
    (case,) = document["cases"]
    assert (case["case"], case["kernel"], case["target"]) == (CASE, "grouped_bwd_data", "gfx942")
    assert [row["verdict"] for row in case["trend"]] == ["PASS"] * 3 + ["MISMATCH"] * 2
    assert [row["changed"] for row in case["trend"]] == [False, True, True, False, False]
    table = said("history", "case", CASE, "--history", url)
    assert table.count("bg1:other changed") == 3
    assert "\x1b" not in table


def test_two_runs_and_two_targets_are_held_against_each_other(url: str, tmp_path: Path, said: Any) -> None:
    lab = Lab(cases=3)
    first, second = lab.night(0), lab.night(1)
    second = [replace(one, digest="bg1:other") if one.key == key_of(1, "gfx942") else one for one in second]
    remember(url, tmp_path, first, second)
    found = said("history", "diff", "night-00", "night-01", "--history", url, "--json")["diff"]
    (change,) = found["changes"]
    assert (change["case"], change["target"], change["what"]) == (CASE, "gfx942", "digest")
    assert (change["after"]["digest"], found["same"], found["only"]) == ("bg1:other", 8, [0, 0])
    assert "1 differ, 2 are the same" in said("history", "diff", "gfx90a", "gfx942", "--history", url)


def test_a_case_may_be_spelled_as_people_spell_it(tmp_path: Path, said: Any) -> None:
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, Lab(cases=2).night(0))
    short = "fwd_f32_nhwgc_n2k1c1_y1_h1"
    (case, *_) = said("history", "case", short, "--history", url, "--json")["cases"]
    assert case["case"] == CASE


def test_diff_as_an_option(tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_HISTORY", str(tmp_path / "h.sqlite"))
    remember(str(tmp_path / "h.sqlite"), tmp_path, Lab(cases=1).night(0), Lab(cases=1).night(1))
    assert "0 differ, 3 are the same" in said("history", "--diff", "night-00", "night-01")


WRONG = {
    ("diff", "night-00", "gfx942"): "night-00 is a run and gfx942 a target",
    ("diff", "night-00", "night-02"): "'night-02' is neither a run of the history nor a target; did you mean 'night-0",
    ("case", CASE.replace("n2", "n3")): "no record of",
    ("first-bad", "nonsense"): "no record of nonsense",
    ("durations", "--out", "{tmp}/d", "--target", "gfx1100"): "nothing is known of its seconds",
    ("ingest", "{tmp}/nothing"): "no such file or folder",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_what_is_wrong_is_told_in_one_line(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = str(tmp_path / "h.sqlite")
    remember(url, tmp_path, Lab(cases=2).night(0), Lab(cases=2).night(1))
    assert run(["history", *(one.format(tmp=tmp_path) for one in arguments), "--history", url]) == 2
    err = capsys.readouterr().err
    assert WRONG[arguments] in err
    assert err.count("\n") == 1


def test_durations_are_medians_in_a_file_that_plans_read(url: str, tmp_path: Path, said: Any) -> None:
    def night(number: int, seconds: float) -> list[Verdict]:
        return [replace(one, seconds={"total": seconds}) for one in Lab(cases=1).night(number)]

    remember(url, tmp_path, *(night(number, seconds) for number, seconds in enumerate((1.0, 3.0, 2.0, 9.0))))
    (one,) = said("history", "durations", "--target", "gfx942", "--history", url, "--json")["durations"]
    assert (one["median"], one["p95"], one["runs"], one["machine"]) == (2.5, 9.0, 4, "GFX942")
    for _ in range(2):  # the tables are written anew, so that nothing counts twice
        said("history", "durations", "--history", url, "--out", str(tmp_path / "durations"))
    assert {file.name for file in tmp_path.joinpath("durations").iterdir()} == {
        f"{target}.json" for target in ("gfx90a", "gfx942", "gfx1201")
    }
    known = tables.carried("gfx942", [tmp_path])
    assert known.estimate(key_of(0, "gfx942").case, "naive_conv", "f32", "exact", 1) == 2.5


def test_cases_that_drifted_are_listed_the_slower_first(url: str, tmp_path: Path, said: Any) -> None:
    def night(number: int) -> list[Verdict]:
        found = Lab(cases=3).night(number)
        pace = {one.key.case: ratio for one, ratio in zip(found, (1.0, 1.03, 1.06), strict=False)}
        return [replace(one, seconds={"total": 0.2 * pace[one.key.case] ** number}) for one in found]

    remember(url, tmp_path, *map(night, range(12)))
    found = said("history", "durations", "--drifted", "--target", "gfx942", "--history", url, "--json")["durations"]
    ratios = [one["drift"]["ratio"] for one in found]
    assert len(ratios) == 2
    assert ratios == sorted(ratios, reverse=True)
    assert min(ratios) > 1.15


def test_what_was_not_compared_took_no_time_worth_knowing(tmp_path: Path, said: Any) -> None:
    crashed = [replace(one, outcome=Outcome.CRASHED) for one in Lab(cases=1).night(0)]
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, crashed)
    assert said("history", "durations", "--history", url, "--json")["durations"] == []


def test_first_bad_names_the_commits_between_in_a_repository(
    tmp_path: Path, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=me", "-c", "user.email=me@here"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    commits = []
    for subject in ("good", "harmless", "guilty"):
        git("commit", "-q", "--allow-empty", "-m", subject)
        commits.append(git("rev-parse", "HEAD"))
    lab = Lab(cases=2, planted=Planted(broken=((1,), 1)))
    nights = []
    for number, commit in enumerate((commits[0], commits[2], f"{commits[2]}-dirty")):
        nights.append([replace(one, fingerprint=one.fingerprint | {"commit": commit}) for one in lab.night(number)])
    remember(url := str(tmp_path / "h.sqlite"), tmp_path / "out", *nights)
    monkeypatch.chdir(tmp_path)
    (found,) = said("history", "first-bad", "--history", url, "--json")["first_bad"]
    assert (found["good"], found["bad"], found["commits"]) == (commits[0], commits[2], 2)
    assert [line.partition(" ")[2] for line in found["log"]] == ["guilty", "harmless"]
    lines = said("history", "first-bad", CASE, "--history", url)
    assert "night-01: 3 cases red since" in lines
    assert f"git log {commits[0][:12]}..{commits[2][:12]}" in lines


def test_a_case_that_is_green_now_has_no_first_bad_run(tmp_path: Path, said: Any) -> None:
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, Lab(cases=2).night(0))
    assert said("history", "first-bad", CASE, "--history", url) == f"{CASE} is not red now\n"


def test_failures_are_new_known_or_fixed(url: str, tmp_path: Path, said: Any) -> None:
    known, new, fixed, other = 0, 1, 2, 3
    before = Lab(cases=5, planted=Planted(broken=((known, fixed, other), 0))).night(0)
    after = Lab(cases=5, planted=Planted(broken=((known, new), 0))).night(1)
    crashed = key_of(other, "gfx942").case
    after = [replace(one, outcome=Outcome.CRASHED) if one.key.case == crashed else one for one in after]
    remember(url, tmp_path / "before", before)
    record = write(tmp_path / "after" / "results.jsonl", after)

    for against in (["--history", url], ["--against", str(tmp_path / "before")]):
        found = said("triage", str(record), *against, "--json", code=1)["triage"]
        assert {(one["case"], one["verdict"], one["count"]) for one in found["new"]} == {
            (key_of(new, "gfx942").case, "MISMATCH", 1),
            (crashed, "CRASHED", 1),
        }
        assert {one["case"] for one in found["known"]} == {key_of(known, "gfx942").case}
        assert {one["case"] for one in found["fixed"]} == {key_of(fixed, "gfx942").case}

    # A run that is in the history itself is not held against itself.
    remember(url, tmp_path / "again", after)
    assert "6 new, 3 known, 3 fixed" in said("triage", str(record), "--history", url, code=1)


def test_a_run_whose_failures_are_all_known_ends_with_0(tmp_path: Path, said: Any) -> None:
    lab = Lab(cases=2, planted=Planted(broken=((1,), 0)))
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, lab.night(0))
    record = write(tmp_path / "now" / "results.jsonl", lab.night(1))
    assert "0 new, 3 known, 0 fixed" in said("triage", str(record), "--history", url)


def test_green_cases_with_other_bits_are_listed(tmp_path: Path, said: Any) -> None:
    lab = Lab(cases=2)
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, lab.night(0))
    tonight = [replace(one, digest="bg1:77" if one.key == key_of(1, "gfx942") else one.digest) for one in lab.night(1)]
    record = write(tmp_path / "now" / "results.jsonl", tonight)
    (changed,) = said("triage", str(record), "--history", url, "--json")["triage"]["changed"]
    assert (changed["case"], changed["target"], changed["digest"]) == (CASE, "gfx942", "bg1:77")
    assert changed["was"].startswith("bg1:")
    assert changed["was"] != changed["digest"]
    assert "0 new, 0 known, 0 fixed, 1 green with other digests" in said("triage", str(record), "--history", url)


def test_merging_remembers_and_keeps_its_own_exit_code(
    tmp_path: Path, said: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    red = Lab(cases=2, planted=Planted(broken=((1,), 0))).night(0)
    record = write(tmp_path / "results.jsonl", red)
    url = str(tmp_path / "h.sqlite")
    merge = ["ci", "merge", str(record), "--out", str(tmp_path / "merged"), "--history"]
    said(*merge, url, code=1)
    assert [one["name"] for one in said("history", "runs", "--history", url, "--json")["runs"]] == ["night-00"]
    assert run([*merge, str(tmp_path / "merged")]) == 1  # a folder is no database
    assert "not remembered" in capsys.readouterr().err
    write(record, Lab(cases=2).night(0))
    assert run([*merge, str(tmp_path / "merged")]) == 2, "a night that nobody remembers is not all right"


def test_attempts_of_a_run_are_told_one_after_the_other(tmp_path: Path, said: Any) -> None:
    night = Lab(cases=1).night(0)
    again = [
        replace(one, outcome=Outcome.INFRA, run=Stamp("night-00", 2, "2026-09-02T01:00:00Z", "again", "1/1"))
        for one in night
    ]
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, again, night)
    case, *_ = said("history", "case", key_of(0, "gfx942").case, "--history", url, "--json")["cases"]
    assert [row["verdict"] for row in case["trend"]] == ["PASS", "INFRA"]
    (only,) = said("history", "runs", "--history", url, "--json")["runs"]
    assert (only["unanswered"], only["red"]) == (3, 3)


def test_reading_a_history_needs_no_hip_and_no_kernel(tmp_path: Path) -> None:
    script = (
        "import sys, bitgate.cli.history, bitgate.cli.triage, bitgate.cli.bisect, bitgate.lab.history.flaky,"
        " bitgate.lab.history.triage, bitgate.lab.history.ingest, bitgate.lab.history.diff, bitgate.lab.history.bisect;"
        "print([m for m in sys.modules if m.split('.')[0] in ('hip', 'ml_dtypes')"
        " or m.startswith(('bitgate.verify', 'bitgate.kernel', 'bitgate.runtime', 'bitgate.numerics'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
