"""The protocol of executors, which run the shards of a night; ``bitgate/lab/executors`` has one for each engine.

An executor starts tasks and reports how they end. What is run again, and where, is decided by the night's controller
for all engines alike. The findings of a shard are in its record, never in an engine's report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from bitgate.results.shard import Shard


class TaskState(Enum):
    """The state of a task, as its engine sees it."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    """Ended by itself, with an exit code; the shard's record has its findings."""
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    CANCELLED = "cancelled"
    NO_CAPACITY = "no capacity"
    """No machine of the pool can run it, now or ever: not red, a cell that did not run."""
    LOST = "lost"
    """Unknown to the engine, and without an exit file."""

    @property
    def over(self) -> bool:
        return self not in (TaskState.WAITING, TaskState.RUNNING)


@dataclass(frozen=True)
class Task:
    """One attempt at one shard of one target.

    ``folder`` is used by this task only, and visible to the controller and the machine that runs it. The record goes
    below it (``$BITGATE_OUT``), next to ``log.txt`` and, at the end, ``exit.json``. ``command`` runs in ``root`` with
    ``environment`` over the machine's. It is ended ``minutes`` after its start. ``constraint`` is what the engine
    requires of a machine (a Slurm feature, a Dask worker's target). ``exclusive`` requires a whole machine, and
    ``all_memory`` the right to all of its memory; ``avoid`` names machines on which an earlier attempt failed.
    """

    target: str
    shard: Shard
    attempt: int
    command: tuple[str, ...]
    environment: Mapping[str, str]
    root: Path
    folder: Path
    minutes: float
    constraint: str = ""
    gpus: int = 0
    exclusive: bool = False
    all_memory: bool = False
    avoid: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name that is unique in a night, and safe for a file or job: ``gfx942_s2of6_a1``."""
        return f"{self.target}_{self.shard.folder}_a{self.attempt}"


@dataclass(frozen=True)
class TaskStatus:
    """The state of a task.

    ``node`` is the machine that ran it, where the engine reports it. ``exit_code`` is set if it ended by itself.
    ``reason`` is the engine's message for people.
    """

    state: TaskState
    exit_code: int | None = None
    node: str = ""
    reason: str = ""


class Executor(Protocol):
    """An engine for tasks. Handles are text, unique to the engine; the journal keeps them so that another controller
    can go on."""

    name: str

    def submit(self, tasks: Sequence[Task]) -> Sequence[str]:
        """Start or queue these tasks, and return a handle for each, in order. Raises UsageError if the engine is
        missing."""

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        """Return the state of each handle, also of another controller's; unknown ones are ``LOST``."""

    def cancel(self, handles: Sequence[str]) -> None:
        """End these tasks with all their processes; one that ended already is left alone."""
