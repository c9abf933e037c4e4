"""Seconds of past runs in tables that travel: what a machine without GPU plans a night of GPUs by."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.results.record import Key, Outcome, Stamp, Verdict, append
from bitgate.results.run_plan import RunPlan
from bitgate.results.shard import ShardTime
from bitgate.suite import durations
from bitgate.suite.recorded import RecordedRow, note_runs

CASE = "gemm_f16_rcr_b1m{}n8k8"


def verdict(night: int, size: int, seconds: float, outcome: Outcome = Outcome.PASS, attempt: int = 1) -> Verdict:
    stamp = Stamp(f"night-{night}", attempt, f"2026-11-{night:02}T03:00:00.000000+00:00")
    key = Key(CASE.format(size), "naive_gemm", "f16", (), "exact", 0, "forward", "gfx942")
    return Verdict(key, outcome, device_kind="hardware", device_name="MI300X", seconds={"total": seconds}, run=stamp)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_each_night_is_one_sample_whatever_its_attempts(tmp_path: Path) -> None:
    nights = [verdict(n, 8, seconds) for n, seconds in ((3, 4.0), (1, 1.0), (2, 2.0))]
    again = verdict(3, 8, 6.0, attempt=2)
    noted = note_runs([*nights, again, verdict(2, 16, 9.0, Outcome.CRASHED)], tmp_path)
    assert noted == [RecordedRow(tmp_path / "gfx942.json", "MI300X", runs=3, cases=1)]
    table = json.loads((tmp_path / "gfx942.json").read_text())["machines"]["MI300X"]
    assert table["seconds"] == {f"{CASE.format(8)}__naive_gemm_f16__exact": [1.0, 2.0, 5.0]}
    assert list(table["paces"]) == ["naive_gemm"]


def test_the_stated_table_overrides_the_suites_where_it_speaks(tmp_path: Path) -> None:
    shelf, folder = tmp_path / "suites", tmp_path / "stated"
    note_runs([verdict(1, 8, 1.0), verdict(1, 16, 3.0)], shelf / "durations")
    note_runs([verdict(2, 8, 2.0)], folder)
    known = durations.stated("gfx942", folder, [shelf])
    assert sorted(known.seconds.values()) == [2.0, 3.0]
    assert durations.stated("gfx1201", folder, [shelf]) == durations.Durations()


def test_who_names_a_folder_of_durations_means_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: no such folder of durations; `bitgate ci durations` writes one"):
        durations.stated("gfx942", tmp_path / "none", [])
    (tmp_path / "gfx942.json").write_text("{")
    with pytest.raises(UsageError, match=r"gfx942.json: no table of durations; write it anew"):
        durations.stated("gfx942", tmp_path, [])


def test_the_95th_percentile_is_the_slowest_of_7_not_of_40() -> None:
    assert durations.percentile([1, 1, 1, 1, 1, 1, 9], 0.95) == 9
    assert durations.percentile([1.0] * 38 + [8.0, 9.0], 0.95) == 1.0


def test_a_run_that_compared_nothing_tells_no_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "results.jsonl", verdict(1, 8, 1.0, Outcome.CRASHED))
    assert run(["ci", "durations", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "no case was compared, so nothing is known of its seconds" in capsys.readouterr().err


def test_a_night_elsewhere_is_planned_by_the_times_from_there(tmp_path: Path) -> None:
    """No gfx942 here: the plan of its smoke is cut into shards by records, and says how long each takes."""
    first = _plan(tmp_path, "--json")
    slow, *_ = keys = sorted((item.key for part in first.shards for item in part.cases if not item.refused), key=str)
    for key in keys:
        stamp = Stamp("night", 1, "2026-11-20T03:00:00.000000+00:00")
        taken = {"total": 30.0 if key == slow else 2.0}
        append(tmp_path / "results.jsonl", Verdict(key, Outcome.PASS, device_name="MI300X", seconds=taken, run=stamp))
    assert run(["ci", "durations", str(tmp_path / "results.jsonl"), "--out", str(tmp_path / "table")]) == 0
    plan = _plan(tmp_path, "--durations", str(tmp_path / "table"), "--shard-seconds", "40", "--setup-seconds", "5")
    lengths = [part.length for part in plan.shards if part.length]
    total = sum(length.seconds for length in lengths)
    assert total == pytest.approx(30.0 + 2.0 * (len(keys) - 1))
    assert len(lengths) == len(plan.shards)
    assert max(length.seconds for length in lengths) <= 35  # 40 less 5 to set up
    assert 34 * (len(lengths) - 1) < total  # as few as hold cases of 2 s
    assert max(length.seconds for length in lengths) <= 1.1 * total / len(lengths)
    assert {round(length.longest) for length in lengths} == {30, 2}
    assert [ShardTime(**asdict(length)) for length in lengths] == lengths  # read back as written


def _plan(folder: Path, *more: str) -> RunPlan:
    out = folder / "plan.json"
    asked = ["--tier", "smoke", "--target", "gfx942", "--kernel", "naive_reduction*", "--out", str(out), *more]
    subprocess.run([sys.executable, "-m", "bitgate", "ci", "plan", *asked], check=True, capture_output=True)
    return RunPlan.read(out)


@pytest.mark.parametrize("more", [["--shards", "4"], ["--shards", "gfx942=2", "--shards", "3"]])
def test_a_number_and_a_length_of_shards_are_not_both_taken(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["ci", "plan", "--target", "gfx942", "--out", "never.json", "--shard-seconds", "60", *more]
    assert run(asked) == 2
    assert "give one of them, or --shards TARGET=N" in capsys.readouterr().err
