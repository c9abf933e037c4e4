"""Where the shards of a night run: one protocol, an implementation for each engine in ``bitgate/lab/executors``.

An executor starts tasks and says how they end. What is run again, and where, is decided once for all engines, by who
controls the night; what a shard found is in its record, never in what an engine says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from bitgate.results.shard import Shard


class TaskState(Enum):
    """What became of a task, as its engine sees it."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"
    """By itself, with an exit code; the shard's record says what it found."""
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    CANCELLED = "cancelled"
    NO_CAPACITY = "no capacity"
    """No machine of the pool can run it, now or ever: not red, a cell that did not run."""
    LOST = "lost"
    """The engine does not know it any more, and it left no exit file."""

    @property
    def over(self) -> bool:
        return self not in (TaskState.WAITING, TaskState.RUNNING)


@dataclass(frozen=True)
class Task:
    """One attempt at one shard of one target.

    ``folder`` is its own, and seen by the controller and the machine that runs it: the record goes below it
    (``$BITGATE_OUT``), beside ``log.txt`` and, once it ended, ``exit.json``. ``command`` runs with ``environment`` over
    the machine's own, in ``root``. ``minutes`` after its start it is ended; ``constraint`` is what the engine asks of a
    machine (a Slurm feature, a Dask worker's target); ``exclusive`` asks for a whole machine; ``avoid`` names machines
    on which an earlier attempt failed.
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
    avoid: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique in a night, and safe as the name of a file or job: ``gfx942_s2of6_a1``."""
        return f"{self.target}_{self.shard.folder}_a{self.attempt}"


@dataclass(frozen=True)
class TaskStatus:
    """``node`` is the machine that ran it, where the engine says so; ``exit_code`` is there if it ended by itself;
    ``reason`` is the engine's word for people."""

    state: TaskState
    exit_code: int | None = None
    node: str = ""
    reason: str = ""


class Executor(Protocol):
    """Handles are text, unique to the engine: the night's journal keeps them, so that another controller can go on."""

    name: str

    def submit(self, tasks: Sequence[Task]) -> Sequence[str]:
        """Start these tasks, or queue them: a handle each, in their order. UsageError if the engine is not there."""

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        """How each of these stands. A handle of another controller's is known too; else it is ``LOST``."""

    def cancel(self, handles: Sequence[str]) -> None:
        """End them where they run, with all their processes. One that ended already is left alone."""
