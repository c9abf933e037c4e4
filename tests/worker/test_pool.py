"""A pool gives each worker the jobs of a key, and a death costs the job that the process was at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.worker.pool import AGAIN, JobState, WorkerPool
from bitgate.worker.worker import Request, Worker, WorkerDied

ROOT = Path(__file__).parents[2]
SERVE = "tests.worker.behaviours:serve"


@dataclass(eq=False)
class BehaviourJob:
    behaviour: str
    steps: int = 1
    asked: Request | None = None
    process: int = 0

    def give(self, worker: Worker) -> bool:
        if self.behaviour == "nothing":
            return False
        self.asked = worker.put({"behaviour": self.behaviour}, 60)
        self.process = worker.number
        return True

    def is_lost(self, worker: Worker) -> bool:
        said = self.asked and self.asked.reply
        return isinstance(said, WorkerDied) and said.at is not self.asked

    def hears(self, worker: Worker, silent: bool) -> bool:
        assert self.asked is not None
        return worker.hears(self.asked, silent=silent)

    def take(self, worker: Worker) -> str | JobState:
        if self.asked is None:
            return "nothing"
        try:
            worker.answer(self.asked)
        except WorkerDied as ended:
            return ended.reason
        self.steps -= 1
        return AGAIN if self.steps and self.give(worker) else "well"


Open = Callable[..., WorkerPool[Worker, BehaviourJob]]


@pytest.fixture
def pool() -> Iterator[Open]:
    opened: list[WorkerPool[Worker, BehaviourJob]] = []

    def of(count: int, deep: int = 1) -> WorkerPool[Worker, BehaviourJob]:
        def is_full(given: Sequence[BehaviourJob]) -> bool:
            return len(given) >= deep

        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        workers = [Worker(SERVE, lambda data: None, environment=environment) for _ in range(count)]
        opened.append(WorkerPool(workers, is_full=is_full))
        return opened[-1]

    yield of
    for one in opened:
        one.end()


def drained(pool: WorkerPool[Worker, BehaviourJob]) -> dict[BehaviourJob, str]:
    found = {}
    while (done := pool.next()) is not None:
        found[done[0]] = done[1]
    return found


def test_each_job_has_its_result_and_those_of_a_key_one_process(pool: Open) -> None:
    one = pool(2)
    jobs = [BehaviourJob("well") for _ in range(6)]
    for number, job in enumerate(jobs):
        one.submit(job, number // 3)
    assert one.has_room is False
    assert drained(one) == dict.fromkeys(jobs, "well")
    assert one.has_room


@pytest.mark.parametrize("deep", [1, 8])
def test_a_death_costs_the_job_that_the_process_was_at(pool: Open, deep: int) -> None:
    one = pool(1, deep)
    jobs = [BehaviourJob(behaviour) for behaviour in ("well", "kill", "well", "abort", "well")]
    for job in jobs:
        one.submit(job, "same")
    found = drained(one)
    assert [found[job] for job in jobs] == [
        "well",
        "its process died of SIGKILL",
        "well",
        "its process died of SIGABRT",
        "well",
    ]
    assert [job.process for job in jobs] == [1, 1, 2, 2, 3]


def test_a_job_of_several_steps_keeps_its_worker(pool: Open) -> None:
    one = pool(1)
    jobs = [BehaviourJob("well", steps=3), BehaviourJob("nothing")]
    for job in jobs:
        one.submit(job)
    assert drained(one) == {jobs[0]: "well", jobs[1]: "nothing"}
    assert jobs[0].steps == 0


def test_a_caller_that_stops_waiting_finds_the_job_under_way(pool: Open) -> None:
    one = pool(1)
    job = BehaviourJob("sleep")
    one.submit(job)
    assert one.next(0.1) is None
    assert one.under_way == [job]


def test_a_process_is_opened_first_and_again_after_a_death(pool: Open) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    heard: list[str] = []
    opening = {"behaviour": "well"}
    with Worker(SERVE, lambda _: None, opening=opening, hear=heard.append, environment=environment) as worker:
        assert worker.opened() == {"well": True}
        with pytest.raises(WorkerDied) as ended:
            worker.ask({"behaviour": "kill"}, 60)
        assert not ended.value.at_opening
        assert worker.ask({"behaviour": "well"}, 60) == {"well": True}
        assert (worker.number, heard) == (2, ["on its way"] * 2)
        worker.opening = {"behaviour": "refuse"}
        worker.end()
        late = [worker.put({"behaviour": "well"}, 60) for _ in range(2)]
        for asked in late:
            with pytest.raises(UsageError, match="not this one"):
                worker.answer(asked)
        worker.opening = {"behaviour": "kill"}
        with pytest.raises(WorkerDied) as ended:
            worker.ask({"behaviour": "well"}, 60)
        assert ended.value.at_opening
