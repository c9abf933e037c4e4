"""Tasks of shell lines, for tests of what runs them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from bitgate.lab.executors.executor import Executor, Task, TaskStatus
from bitgate.results.shard import Shard

PATIENCE_SECONDS = 240.0


def task_of(folder: Path, line: str, minutes: float = 5, name: str = "host", shard: str = "1/1") -> Task:
    """A task whose command is a shell line."""
    return Task(
        target=name,
        shard=Shard.parse(shard),
        attempt=1,
        command=("bash", "-c", line),
        environment={"WORD": "from the task"},
        root=folder.parent,
        folder=folder,
        minutes=minutes,
    )


def python(code: str) -> str:
    """A shell line that becomes Python."""
    return f"exec {sys.executable} -c '{code}'"


def until(true: Callable[[], object]) -> None:
    """Wait for it, as long as a busy machine may take."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)


def wait(executor: Executor, handles: list[str]) -> dict[str, TaskStatus]:
    """How they all ended."""
    found: dict[str, TaskStatus] = {}

    def over() -> bool:
        found.update(executor.poll(handles))
        return all(status.state.over for status in found.values())

    until(over)
    return found
