"""What one sees of a night while it runs: counts from the growing records, as a table or as lines."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest

from bitgate.lab.ci import screen
from bitgate.lab.ci.attempts import folder_of, record_of
from bitgate.lab.ci.journal import Attempt, Place, Progress
from bitgate.lab.ci.screen import LiveScreen, PlainScreen, table
from bitgate.lab.ci.view import NightView, OutcomeTally, TargetProgress, duration, view_of
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome
from bitgate.results.shard import Shard

DONE, RUNS, WAITS = ("host", Shard(1, 3)), ("host", Shard(2, 3)), ("host", Shard(3, 3))
LOST = ("gfx942", Shard(1, 1))
SHARDS = {
    DONE: Progress(
        2,
        (Attempt(1, "h", status=TaskStatus(TaskState.LOST)), Attempt(2, "h", status=TaskStatus(TaskState.ENDED, 1))),
        "",
    ),
    RUNS: Progress(2, (Attempt(1, "h"),)),
    WAITS: Progress(2, (Attempt(1, "h"),)),
    LOST: Progress(4, (Attempt(1, "h", status=TaskStatus(TaskState.LOST)),), "sick"),
}
STATES = {RUNS: TaskStatus(TaskState.RUNNING, node="n1"), WAITS: TaskStatus(TaskState.WAITING)}


def write(night: Path, place: Place, number: int, *outcomes: tuple[str, Outcome]) -> None:
    path = record_of(night, place, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for case, outcome in outcomes:
            green = outcome is Outcome.PASS
            file.write(json.dumps({"test": f"t.py::t[{case}]", "verdict": outcome.value, "green": green}) + "\n")


def seen(night: Path) -> NightView:
    return view_of(night, SHARDS, STATES, lambda place, one: OutcomeTally(record_of(night, place, one.number)).update())


@pytest.fixture
def night(tmp_path: Path) -> Path:
    write(tmp_path, DONE, 1, ("a", Outcome.MISMATCH), ("b", Outcome.INFRA))
    write(tmp_path, DONE, 2, ("a", Outcome.PASS), ("b", Outcome.PASS))
    write(tmp_path, RUNS, 1, ("c", Outcome.PASS))
    began = {"pid": os.getpid(), "started": time.time() - 130, "node": "n1"}
    (folder_of(tmp_path, RUNS, 1) / "process.json").write_text(json.dumps(began))
    return tmp_path


def test_targets_by_what_shards_do_and_how_cases_ended(night: Path) -> None:
    host, gfx942 = seen(night).rows
    assert host.shards == {"done": 1, "running": 1, "waiting": 1}
    assert (host.cases, host.answered, host.outcomes) == (6, 3, {Outcome.PASS: 3})
    assert gfx942 == TargetProgress("gfx942", {"given up": 1}, 4, 0, 0, {})


def test_red_stays_red_and_a_lost_device_ends_with_an_answer(night: Path) -> None:
    """Case a differs between its attempts; case b had none in the first."""
    host, _ = seen(night).rows
    assert host.red == 1


def test_the_shard_that_runs_longest_and_the_end_to_expect(night: Path) -> None:
    view = seen(night)
    assert view.longest == "host 2/3 has run for 2 min"
    assert view.left == pytest.approx(view.seconds * 7 / 3)
    assert view.line == (
        "shards: 1 done, 1 running, 1 waiting, 1 given up; cases: 3 of 10, 1 red;"
        " host 2/3 has run for 2 min; about 5 min to go"
    )


def test_of_a_night_that_has_just_begun_no_end_is_foretold(tmp_path: Path) -> None:
    view = seen(tmp_path)
    assert (view.left, view.longest) == (None, "")
    assert view.line == "shards: 1 done, 1 running, 1 waiting, 1 given up; cases: 0 of 10, 0 red"


def test_a_growing_record_is_read_and_half_a_line_waits(tmp_path: Path) -> None:
    write(tmp_path, RUNS, 1, ("a", Outcome.PASS))
    path = record_of(tmp_path, RUNS, 1)
    tally = OutcomeTally(path).update()
    assert tally.outcomes == {"a": Outcome.PASS}
    whole = path.read_text().replace("[a]", "[b]")
    with path.open("a") as file:
        file.write(whole[:20])
    assert tally.update().outcomes == {"a": Outcome.PASS}
    with path.open("a") as file:
        file.write(whole[20:] + "gibberish\n")
    assert tally.update().outcomes == {"a": Outcome.PASS, "b": Outcome.PASS}


def test_a_pipe_gets_lines_with_their_time_and_no_colours(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    plain = PlainScreen(stream)
    plain.say("host 2/3 runs on n1")
    plain.show(seen(night))
    monkeypatch.setattr(screen, "PLAIN_SECONDS", 0.0)
    plain.show(seen(night))
    first, second = stream.getvalue().splitlines()
    assert first[8:] == " host 2/3 runs on n1"
    assert second[8:] == f" {seen(night).line}"
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_a_table(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=120).print(table(seen(night)))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    names = ["target", "done", "running", "waiting", "given", "up", "cases", "answered", "red", "verdicts"]
    assert lines[:3] == [
        names,
        ["host", "1", "1", "1", "0", "6", "3", "1", "PASS", "3"],
        ["gfx942", "0", "0", "0", "1", "4", "0", "0"],
    ]
    monkeypatch.setattr("sys.stderr", stream)
    lively = LiveScreen()
    lively.say("host [2/3] runs")
    assert "host [2/3] runs" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0 s"), (99, "99 s"), (100, "2 min"), (5940, "99 min"), (11100, "3 h 05 min")]
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words
