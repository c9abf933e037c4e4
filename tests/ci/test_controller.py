"""A controller's requests to an engine, and its reading of the answers: with an engine that answers as scripted.

The cases' records are written as a run would; the rest is the controller's own."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.lab.ci.attempts import PLAN
from bitgate.lab.ci.journal import Journal, NightPlanned, Seat
from bitgate.lab.ci.night import Controller
from bitgate.lab.ci.screen import PlainScreen
from bitgate.lab.executors.executor import Task, TaskState, TaskStatus
from bitgate.results.plan import Plan, PlannedItem
from bitgate.results.record import Key, Outcome, Stamp, Verdict, append
from bitgate.results.report.summary import Summary
from bitgate.results.run_plan import RunPlan, make

ALL = tuple(range(4))
Told = Callable[[Task], tuple[TaskStatus, Sequence[int]]]
"""How a task ends, and which of its cases it has answered by then."""


def item(target: str, number: int) -> PlannedItem:
    name = f"fwd_f32_nhwgc_g1n{number + 1}k1c1_y1x1_h1x1_s1x1_d1x1_p0x0_q0x0"
    name_of_test = f"{name}__naive_conv_fwd_f32__exact"
    key = Key(name, "naive_conv", "fwd_f32", (), "exact", 0, "forward", target)
    return PlannedItem(name_of_test, key, "smoke", "conv_fwd", test=f"suites/t.py::t[{name_of_test}]", seconds=0.1)


@dataclass
class AsTold:
    """An engine whose tasks end at the second look, as ``told``."""

    plan: RunPlan
    told: Told
    name: str = "told"
    tasks: dict[str, Task] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)

    def submit(self, new: Sequence[Task]) -> Sequence[str]:
        self.tasks |= {task.name: task for task in new}
        return [task.name for task in new]

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        return {handle: self._status(handle) for handle in handles}

    def cancel(self, handles: Sequence[str]) -> None:
        raise AssertionError("nobody interrupts these nights")

    def _status(self, handle: str) -> TaskStatus:
        if handle not in self.looked:
            self.looked.add(handle)
            return TaskStatus(TaskState.RUNNING)
        task = self.tasks[handle]
        status, answered = self.told(task)
        part = self.plan.shard(task.target, task.shard)
        assert part
        select = task.folder / "select.txt"
        wanted = select.read_text().split() if select.exists() else [item.id for item in part.cases]
        for number, item in enumerate(part.cases):
            if number in answered and item.id in wanted:
                self._record(task, item)
        return status

    def _record(self, task: Task, item: PlannedItem) -> None:
        stamp = Stamp(
            "night", task.attempt, f"2026-11-22T0{task.attempt}:00:00.000001+00:00", task.name, str(task.shard)
        )
        folder = task.folder / task.target / task.shard.folder
        stated: dict[str, Any] = {
            "suite": item.suite,
            "test": item.test,
            "tier": item.tier,
            "fingerprint": {"build": "b"},
        }
        append(folder / "results.jsonl", Verdict(item.key, Outcome.PASS, plan=self.plan.id, run=stamp, **stated))


@dataclass
class Finished:
    controller: Controller
    engine: AsTold
    lines: io.StringIO
    summary: Summary

    def tasks(self, target: str = "gfx942") -> list[Task]:
        return [task for task in self.engine.tasks.values() if task.target == target]

    @property
    def said(self) -> str:
        return self.lines.getvalue()


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """Runs a night of 4 cases on gfx942 (and further targets) to its end."""
    monkeypatch.setattr("bitgate.lab.ci.night.SOONEST_SECONDS", 0.0)

    def run(told: Told, *more: str, shards: int = 1) -> Finished:
        targets = ("gfx942", *more)
        plans = [Plan("smoke", target, tuple(item(target, number) for number in ALL)) for target in targets]
        plan = make("smoke", plans, dict.fromkeys(targets, shards))
        plan.write(tmp_path / PLAN)
        places = tuple((part.target, part.shard, len(part.cases)) for part in plan.shards)
        seats = dict.fromkeys(targets, Seat((10.0,) * shards, "gfx942&mi300", 2))
        Journal(tmp_path).add(NightPlanned("night", plan.id, str(tmp_path), "told", shards=places, seats=seats))
        engine, lines = AsTold(plan, told), io.StringIO()
        controller = Controller(tmp_path, engine, PlainScreen(lines))
        controller.run()
        return Finished(controller, engine, lines, controller.finish())

    return run


def well(node: str = "n2") -> tuple[TaskStatus, Sequence[int]]:
    return TaskStatus(TaskState.ENDED, 0, node), ALL


def first(status: TaskStatus, answered: Sequence[int] = (0,)) -> Told:
    """So ends the first attempt; a later one goes well."""
    return lambda task: (status, answered) if task.attempt == 1 else well()


def test_a_task_asks_for_what_its_target_needs(night: Callable[..., Finished]) -> None:
    (task,) = night(lambda task: well()).tasks()
    assert (task.minutes, task.constraint, task.gpus, task.exclusive, task.avoid) == (
        10.0,
        "gfx942&mi300",
        2,
        False,
        (),
    )
    assert task.environment["BITGATE_RUN_ID"] == "night"
    assert task.environment["BITGATE_OUT"] == str(task.folder)
    assert f"--shard={task.shard}" in task.command


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        (TaskState.NODE_FAILED, {"avoid": ("n1",)}),
        (TaskState.LOST, {"avoid": ("n1",)}),
        (TaskState.PREEMPTED, {}),
        (TaskState.TIMED_OUT, {"avoid": ("n1",), "minutes": 20.0}),
        (TaskState.OUT_OF_MEMORY, {"avoid": ("n1",), "exclusive": True, "all_memory": True}),
    ],
)
def test_the_end_of_the_first_attempt_decides_on_a_second(
    night: Callable[..., Finished], state: TaskState, changes: dict[str, Any]
) -> None:
    done = night(first(TaskStatus(state, None, "n1", "so it was")))
    one, two = done.tasks()
    kept: dict[str, Any] = {"attempt": 2, "folder": two.folder, "command": two.command, "environment": two.environment}
    assert two == replace(one, **kept, **changes)
    assert len((two.folder / "select.txt").read_text().split()) == 3
    assert (two.environment["BITGATE_RUN_ATTEMPT"], done.summary.exit_code) == ("2", 0)
    assert "gfx942 runs again: 3 cases without an answer: so it was on n1" in done.said
    assert done.summary.notes == ("gfx942 ran again (attempt 2) on n2: 3 cases without an answer: so it was on n1",)


def test_what_is_lost_twice_is_lost_and_red(night: Callable[..., Finished]) -> None:
    done = night(lambda task: (TaskStatus(TaskState.LOST, None, "n1", "gone"), (0,)))
    assert len(done.tasks()) == 2
    assert (done.summary.exit_code, done.summary.outcomes) == (1, {"PASS": 1, "LOST": 3})
    assert "gfx942 was given up: ran again, and still 3 cases without an answer: gone on n1" in done.summary.notes


def test_a_target_without_a_machine_is_not_run_and_said_to_be(night: Callable[..., Finished]) -> None:
    none = TaskStatus(TaskState.NO_CAPACITY, reason="no node has gfx950")
    done = night(lambda task: (none, ()) if task.target == "gfx950" else well(), "gfx950")
    assert len(done.tasks("gfx950")) == 1
    assert (done.summary.exit_code, done.summary.outcomes) == (0, {"PASS": 4})
    assert "not run: gfx950 (no capacity: no node has gfx950)" in done.summary.headline
    assert "gfx950 is given up: no capacity: no node has gfx950" in done.said


def test_a_night_without_any_machine_compared_nothing(night: Callable[..., Finished]) -> None:
    done = night(lambda task: (TaskStatus(TaskState.NO_CAPACITY, reason="all are down"), ()))
    assert done.summary.exit_code == 3


def test_a_shard_without_a_machine_did_not_run_and_is_red(night: Callable[..., Finished]) -> None:
    none = TaskStatus(TaskState.NO_CAPACITY, reason="down")
    done = night(lambda task: (none, ()) if task.shard.index == 2 else well(), shards=2)
    assert done.summary.exit_code == 1
    assert done.summary.outcomes == {"PASS": 2, "NOT_RUN": 2}
    assert {red.sentence for red in done.summary.reds} == {"not run in shard 2/2: no capacity: down"}
    assert done.summary.findings == ()


def test_a_night_that_is_over_ends_what_runs_and_waits_for_nothing(tmp_path: Path) -> None:
    plan = make("smoke", [Plan("smoke", "gfx942", tuple(item("gfx942", number) for number in ALL))], {"gfx942": 2})
    plan.write(tmp_path / PLAN)
    places = tuple((part.target, part.shard, part.cases) for part in plan.parts)
    Journal(tmp_path).add(NightPlanned("night", plan.id, str(tmp_path), "told", shards=places))
    lines = io.StringIO()
    controller = Controller(tmp_path, Endless(), PlainScreen(lines), until=time.time() + 0.1)
    controller.run()
    summary = controller.finish()
    assert summary.outcomes == {"NOT_RUN": 2, "LOST": 2}
    assert (
        "gfx942 1/2 is given up: no capacity: the night was over before it began (PartitionConfig)" in lines.getvalue()
    )
    assert "gfx942 2/2 is given up: cancelled: the night was over" in lines.getvalue()


class Endless:
    """An engine whose first task waits for ever, and whose second runs for ever."""

    name = "endless"

    def __init__(self) -> None:
        self.states = {"0": TaskStatus(TaskState.WAITING, reason="PartitionConfig"), "1": TaskStatus(TaskState.RUNNING)}

    def submit(self, new: Sequence[Task]) -> Sequence[str]:
        return [str(number) for number in range(len(new))]

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        return {handle: self.states[handle] for handle in handles}

    def cancel(self, handles: Sequence[str]) -> None:
        self.states = dict.fromkeys(handles, TaskStatus(TaskState.CANCELLED))


def test_a_machine_that_loses_every_shard_ends_the_attempts(night: Callable[..., Finished]) -> None:
    done = night(lambda task: (TaskStatus(TaskState.LOST, None, "n1", "gone"), ()), shards=4)
    assert len(done.tasks()) == 4, "no second attempt where there is no other machine"
    assert "n1 keeps failing, and no machine is healthy" in done.said


def test_the_last_words_of_a_run_that_could_not_be_are_told(night: Callable[..., Finished]) -> None:
    def told(task: Task) -> tuple[TaskStatus, Sequence[int]]:
        task.folder.mkdir(parents=True, exist_ok=True)
        (task.folder / "log.txt").write_text("collecting\nERROR: --plan: 4 of 4 cases are not those of this run\n\n")
        return TaskStatus(TaskState.ENDED, 2, "n1"), ()

    done = night(told)
    assert (
        "gfx942 ended, 0 cases, 0 red: its run ended with 2 on n1"
        " (ERROR: --plan: 4 of 4 cases are not those of this run)" in done.said
    )


def test_a_folder_whose_plan_is_another_is_refused(night: Callable[..., Finished], tmp_path: Path) -> None:
    night(lambda task: well())
    make("smoke", [Plan("smoke", "gfx942", (item("gfx942", 0),))], {"gfx942": 1}).write(tmp_path / PLAN)
    with pytest.raises(UsageError, match="is another plan than the night's: start another with --out"):
        Controller(tmp_path, AsTold(RunPlan("", ()), lambda task: well()), PlainScreen(io.StringIO()))
