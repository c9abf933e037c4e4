"""Timings into a history and what it reports of them, in each kind of database."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from tests.bench.timings import CASE, row
from tests.history.nights import Lab
from tests.history.nights import write as write_verdicts
from tests.history.timed_nights import History, nights

from bitgate.cli.main import run
from bitgate.lab.history.bench_page import round_numbers
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.samples import series_of
from bitgate.lab.history.schema import samples
from bitgate.lab.history.store import opened
from bitgate.results.record.timing import Timing, TimingStatus, write


def file_of(folder: Path, *rows: Timing, name: str = "bench.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for one in rows:
        write(folder / name, one)
    return folder / name


def read_in(url: str, *paths: Path) -> list[tuple[str, int, int]]:
    with opened(url) as store:
        return [(one.what, one.lines, one.added) for one in ingest(store, paths)]


def stored(url: str) -> int:
    with opened(url) as store, store.reading() as connection:
        return connection.scalar(select(func.count()).select_from(samples)) or 0


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def called(*arguments: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert run(["history", *arguments]) == code
        said = capsys.readouterr()
        return json.loads(said.out) if "--json" in arguments else said.out or said.err

    return called


def test_a_timing_is_stored_once_however_often_it_is_read(url: str, tmp_path: Path) -> None:
    file = file_of(tmp_path / "a", *nights([1e-3, 1e-3]))
    assert read_in(url, file) == [("timings", 2, 2)]
    assert read_in(url, file, tmp_path) == [("timings", 2, 0)]
    more = file_of(tmp_path / "b", *nights([1e-3] * 3))
    assert read_in(url, more) == [("timings", 3, 1)]
    assert stored(url) == 15


def test_verdicts_and_timings_of_one_folder_go_in_together(url: str, tmp_path: Path, told: Any) -> None:
    write_verdicts(tmp_path / "host" / "results.jsonl", Lab(cases=2).night(0))
    file_of(tmp_path / "host", *nights([1e-3]))
    said = told("ingest", str(tmp_path), "--history", url, "--json")["ingested"]
    assert (said["verdicts"], said["added"], said["timings"], said["timings_added"]) == (6, 6, 1, 1)
    assert "6 verdicts, 0 new" in told("ingest", str(tmp_path), "--history", url)


def test_a_file_of_timings_may_have_any_name(url: str, tmp_path: Path) -> None:
    assert read_in(url, file_of(tmp_path, *nights([1e-3]), name="monday.jsonl")) == [("timings", 1, 1)]


def test_only_what_was_timed_of_the_tree_itself_is_kept(url: str, tmp_path: Path) -> None:
    (good,) = nights([1e-3])
    rows = [
        good,
        *nights([1e-3], build="0123abc", side="A"),
        *nights([1e-3], status=TimingStatus.OVER_BUDGET),
        row("", [], status=TimingStatus.NOT_VERIFIED),
        row("", [1e-3]),  # of an unknown run
        *nights([1e-3], run={"id": "x", "time": "yesterday"}),
    ]
    assert read_in(url, file_of(tmp_path, *rows)) == [("timings", 6, 1)]
    assert stored(url) == len(good.seconds)


def test_what_is_damaged_is_told_and_the_rest_counts(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, *nights([1e-3] * 3))
    first, second, third = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + b"{nonsense\n" + second + third[:40])
    assert run(["history", "ingest", str(file), "--history", url]) == 0
    said = capsys.readouterr()
    assert f"{file}:2: not a timing: not JSON" in said.err
    assert f"{file}:4: not a timing" in said.err
    assert "2 of 2 timings are new; 2 flaws" in said.out


def test_other_ways_of_timing_are_other_series() -> None:
    def how(**settings: object) -> str:
        return series_of(row("", [1e-3], settings=settings))

    assert how(clock="device events") == "device events"
    assert how(clock="steady clock", cold=True, rotate=4) == "steady clock, cold, 4 buffers"
    assert how(clock="device events", queued=True) == "device events, queued"
    assert how(clock="device events", batch_seconds=0.0) == "device events, launch by launch"
    assert how() == "seconds"
    assert series_of(row("", [1e-3], includes=("zero-fill",))) == "seconds, with zero-fill"


def test_a_regression_is_told_with_its_night_and_commits(url: str, tmp_path: Path, told: Any) -> None:
    draw = np.random.default_rng(0)
    slower, steady = History(15, 1.08).seconds(draw), History(15).seconds(draw)
    rows = [*nights(slower), *nights(steady, instance="x2"), *nights(steady[:4], kernel="naive")]
    read_in(url, file_of(tmp_path, *rows))
    document = told("bench", "--history", url, "--json")["bench"]
    series = {one["kernel"] + "." + one["instance"]: one for one in document["series"]}
    assert len(document["runs"]) == 30
    (step,) = series["grouped_fwd.x1"]["steps"]
    assert step["ratio"] == pytest.approx(1.08, abs=0.02)
    assert (step["run"], step["last_run"]) == ("night-15", "night-14")
    assert (step["good"], step["bad"]) == (f"{14:040x}", f"{15:040x}")
    assert series["grouped_fwd.x2"]["says"] == "steady"
    assert series["naive.x1"]["says"] == "too little data: 4 nights, 8 are needed"
    lines = told("bench", "--history", url).splitlines()
    assert lines[1].startswith(CASE)
    assert "slower by" in lines[1]
    assert "night-14 was the last run before: git log 000000000000..000000000000" in "\n".join(lines)
    assert lines[-1] == "3 series: 1 slower, 1 steady, 1 with too little data"
    assert "\x1b" not in "".join(lines)


def test_what_to_look_at_can_be_chosen(url: str, tmp_path: Path, told: Any) -> None:
    rows = [*nights([1e-3] * 9), *nights([1e-3] * 9, instance="x2"), *nights([1e-3] * 9, target="sm_90")]
    read_in(url, file_of(tmp_path, *rows))

    def count(*arguments: str) -> int:
        return len(told("bench", *arguments, "--history", url, "--json")["bench"]["series"])

    assert count() == 3
    assert count("--kernel", "*.x2") == 1
    assert count("--kernel", "grouped_fwd") == 3
    assert count("--target", "sm_90") == 1
    assert count("--case", CASE) == 3
    assert count("--last", "3") == 3
    said = told("bench", "--case", CASE.replace("k8", "k9"), "--history", url, code=2)
    assert "no record of" in said
    assert CASE in said


def test_the_effect_that_counts_can_be_stated(url: str, tmp_path: Path, told: Any) -> None:
    read_in(url, file_of(tmp_path, *nights([1e-3] * 10 + [1.02e-3] * 10)))
    assert "1 steady" in told("bench", "--history", url)
    assert "1 slower" in told("bench", "--effect", "0.01", "--history", url)


def test_the_same_kernel_on_another_device_is_another_series(url: str, tmp_path: Path, told: Any) -> None:
    other = {"kind": "cpu", "name": "another cpu"}
    read_in(url, file_of(tmp_path, *nights([1e-3] * 9), *nights([2e-3] * 9, device=other)))
    series = told("bench", "--history", url, "--json")["bench"]["series"]
    assert sorted((one["device"], one["levels"][0]["seconds"]) for one in series) == [
        ("another cpu", pytest.approx(2e-3)),
        ("cpu", pytest.approx(1e-3)),
    ]


def test_runs_without_timings_take_no_place(url: str, tmp_path: Path, told: Any) -> None:
    read_in(url, file_of(tmp_path / "t", *nights([1e-3] * 9)))
    read_in(url, write_verdicts(tmp_path / "v" / "results.jsonl", Lab(cases=1, nights=1).night(50)))
    assert len(told("bench", "--last", "9", "--history", url, "--json")["bench"]["series"][0]["points"]) == 9


def test_a_history_without_timings_says_where_they_come_from(url: str, tmp_path: Path, told: Any) -> None:
    read_in(url, write_verdicts(tmp_path / "results.jsonl", Lab(cases=1).night(0)))
    assert "no timings are in the history: `bitgate history ingest FOLDER...`" in told(
        "bench", "--history", url, code=2
    )


def test_a_folder_of_nothing_is_told(url: str, tmp_path: Path, told: Any) -> None:
    assert "holds no results.jsonl or bench.jsonl" in told("ingest", str(tmp_path), "--history", url, code=2)


def test_the_page_has_a_plot_a_series_and_needs_nothing_else(tmp_path: Path, told: Any) -> None:
    url = str(tmp_path / "history.sqlite")
    draw = np.random.default_rng(0)
    rows = [*nights(History(15, 1.3).seconds(draw)), *nights([1e-3] * 9, kernel="<odd>"[1:4], instance="x2")]
    read_in(url, file_of(tmp_path, *rows))
    page = tmp_path / "out" / "bench.html"
    assert str(page) in told("bench", "--history", url, "--html", str(page))
    text = page.read_text()
    assert text.count("<svg") == 2
    assert text.count('class="dot') == 39
    assert text.count('class="mark"') == 1
    assert "slower by" in text
    assert "night-15: " in text
    assert "git log" in text
    assert "<script" not in text
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src &#39;none&#39;" in text
    (tmp_path / "file").touch()
    assert "cannot be written" in told("bench", "--history", url, "--html", str(tmp_path / "file" / "x.html"), code=2)


def test_axes_have_round_numbers() -> None:
    assert round_numbers(0.93, 1.27) == pytest.approx([1.0, 1.1, 1.2])
    assert round_numbers(0.0, 10.0) == pytest.approx([0, 2, 4, 6, 8, 10])
    assert all(len(round_numbers(low, low * 1.01)) >= 2 for low in np.logspace(-4, 4, 50))


def test_a_process_tells_it_without_any_device(tmp_path: Path) -> None:
    """A machine that keeps the history needs no HIP."""
    url = str(tmp_path / "history.sqlite")
    read_in(url, file_of(tmp_path, *nights([1e-3] * 9)))
    program = (
        "import sys; sys.modules['hip'] = None\n"
        "from bitgate.cli.main import run\n"
        f"code = run(['history', 'bench', '--history', {url!r}])\n"
        "loaded = [name for name in sys.modules if name.startswith(('bitgate.runtime', 'bitgate.tools.bench'))]\n"
        "print(code, loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_a_night_that_is_merged_brings_its_timings_along(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    night = Lab(cases=1).night(0)
    write_verdicts(tmp_path / "night" / "results.jsonl", night)
    file_of(tmp_path / "night" / "host", *nights([1e-3]))
    url = str(tmp_path / "history.sqlite")
    merged = str(tmp_path / "merged")
    assert run(["ci", "merge", str(tmp_path / "night"), "--out", merged, "--history", url]) == 0
    assert "3 verdicts, 1 timing more" in capsys.readouterr().err
    assert stored(url) == 5
