"""The folders of a night's attempts, and their tasks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bitgate.lab.ci.journal import NightPlanned, Place, Seat
from bitgate.lab.ci.retry import Decision
from bitgate.lab.ci.task import LOG
from bitgate.lab.executors.executor import Task
from bitgate.results.shard import Shard

PLAN, MATRIX, SHARDS, SELECT = "plan.json", "matrix.json", "shards", "select.txt"

HANDED_ON = (
    "PYTHONPATH",
    "BITGATE_LOAD",
    "BITGATE_CACHE",
    "BITGATE_ARTEFACTS",
    "BITGATE_FETCH_ONLY",
    "BITGATE_THREADS",
)
"""Variables of the controller that every task gets, whatever its engine passes on."""


def folder_of(night: Path, place: Place, attempt: int) -> Path:
    target, shard = place
    return night / SHARDS / target / shard.folder / f"a{attempt}"


def record_of(night: Path, place: Place, attempt: int) -> Path:
    """Return the results file of an attempt, which may not exist yet."""
    target, shard = place
    return folder_of(night, place, attempt) / target / shard.folder / "results.jsonl"


def asked_of(night: Path, place: Place, attempt: int) -> frozenset[str]:
    """Return the ids that an attempt was given; none if it was given the whole shard."""
    try:
        return frozenset((folder_of(night, place, attempt) / SELECT).read_text().split())
    except FileNotFoundError:
        return frozenset()


def task_of(night: Path, planned: NightPlanned, place: Place, decision: Decision, attempt: int) -> Task:
    """Return the task of an attempt; selected ids go to a file in its folder. Raises OSError if that cannot be
    written."""
    target, shard = place
    folder, seat = folder_of(night, place, attempt), planned.seats.get(target, Seat())
    command = [sys.executable, "-m", "bitgate", "run", *planned.arguments]
    command += [f"--target={target}", f"--shard={shard}", f"--plan={night / PLAN}"]
    if decision.in_turn:
        command.append("-n0")
    if decision.only:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SELECT).write_text("\n".join(sorted(decision.only)) + "\n")
        command.append(f"--select={folder / SELECT}")
    handed_on = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
    own = {
        "BITGATE_OUT": str(folder),
        "BITGATE_LOG": str(folder / LOG),
        "BITGATE_RUN_ID": planned.night,
        "BITGATE_RUN_ATTEMPT": str(attempt),
    }
    return Task(
        target=target,
        shard=shard,
        attempt=attempt,
        command=tuple(command),
        environment={**planned.environment, **handed_on, **seat.environment, **own},
        root=Path(planned.root),
        folder=folder,
        minutes=decision.longer * seat.minutes_of(shard),
        constraint=seat.constraint,
        gpus=seat.gpus,
        exclusive=seat.exclusive or decision.alone,
        all_memory=decision.alone,
        avoid=decision.avoid,
    )


def name_of(place: Place) -> str:
    target, shard = place
    return f"{target} {shard}" if shard != Shard(1, 1) else target
