"""Of many workers that are asked by turns, those asked last are kept."""

from __future__ import annotations

import os
from pathlib import Path

from bitgate.worker.kept import KeptWorkers
from bitgate.worker.worker import Worker

ROOT = Path(__file__).parents[2]


def test_the_one_asked_longest_ago_is_ended_and_starts_again_when_asked() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    entry = "tests.worker.behaviours:serve"
    workers = [Worker(entry, lambda data: None, environment=environment) for _ in range(3)]
    kept = KeptWorkers(2)
    for worker in (*workers[:2], workers[0], workers[2]):
        kept.keep(worker)
        assert worker.ask({"behaviour": "well"}, 20) == {"well": True}
    assert [worker.is_alive for worker in workers] == [True, False, True]
    kept.keep(workers[1])
    assert workers[1].ask({"behaviour": "well"}, 20) == {"well": True}
    assert [worker.is_alive for worker in workers] == [False, True, True]
    for worker in workers:
        worker.end()
