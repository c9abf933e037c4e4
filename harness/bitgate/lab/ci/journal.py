"""The journal of a night, ``night.jsonl``: one event a line, and the state of the night is what they add up to.

A controller may be killed at any moment: every prefix of a journal is the state of a night that another can go on with,
and a line that was cut is one that was not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import Count, InvalidInput, Name, Seconds, Short, Text, parse_json, read_bytes, shaped
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import append_line
from bitgate.results.shard import Shard, ShardText

JOURNAL = "night.jsonl"

MINUTES = 60.0
"""For a task of which nothing is known."""

Place: TypeAlias = tuple[str, Shard]
"""Target and shard."""


class Seat(Struct, frozen=True):
    """What the tasks of a target ask of a machine, as ``Task`` has it; ``minutes`` by shard, in their order."""

    minutes: tuple[Seconds, ...] = ()
    constraint: Short = ""
    gpus: Count = 0
    exclusive: bool = False

    def minutes_of(self, shard: Shard) -> float:
        return self.minutes[shard.index - 1] if shard.index <= len(self.minutes) else MINUTES


class NightPlanned(Struct, tag_field="event", tag="planned", frozen=True):
    """The first line: what another controller needs beside ``plan.json``. ``arguments`` and ``environment`` are those
    of every ``bitgate run``, in the folder ``root``; ``jobs`` and ``options`` are the engine's."""

    night: Short
    plan: Short
    root: Text
    executor: Short
    jobs: Count = 0
    options: dict[Short, Text] = {}
    arguments: tuple[Text, ...] = ()
    environment: dict[Short, Text] = {}
    shards: tuple[tuple[Name, ShardText, Count], ...] = ()
    """Target, shard, and how many cases; in the order in which they are to begin."""
    seats: dict[Name, Seat] = {}


class AttemptSubmitted(Struct, tag_field="event", tag="submitted", frozen=True):
    """``why`` it runs again; empty of a first attempt."""

    target: Name
    shard: ShardText
    attempt: Count
    handle: Text
    why: Text = ""


class AttemptEnded(Struct, tag_field="event", tag="ended", frozen=True):
    target: Name
    shard: ShardText
    attempt: Count
    state: TaskState
    exit_code: int | None = None
    node: Short = ""
    reason: Text = ""


class ShardSettled(Struct, tag_field="event", tag="settled", frozen=True):
    """Nothing more of this shard is run after this attempt, for this reason; empty if it has all its answers."""

    target: Name
    shard: ShardText
    attempt: Count
    why: Text = ""


class NightFinished(Struct, tag_field="event", tag="finished", frozen=True):
    """Merged, with this exit code."""

    exit_code: int


Event: TypeAlias = NightPlanned | AttemptSubmitted | AttemptEnded | ShardSettled | NightFinished
_EVENT: Any = Event


@dataclass(frozen=True)
class Attempt:
    """``status`` is how it ended, None while it has not."""

    number: int
    handle: str
    why: str = ""
    status: TaskStatus | None = None


@dataclass(frozen=True)
class Progress:
    """One shard of one target; ``settled`` says why nothing more of it is run, None while something may be."""

    cases: int
    attempts: tuple[Attempt, ...] = ()
    settled: str | None = None

    @property
    def last(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def open(self) -> Attempt | None:
        """The attempt that has not ended, if there is one."""
        return self.last if self.last and self.last.status is None else None


@dataclass(frozen=True)
class NightState:
    """Everything that is known of a night. ``planned`` is None before its first event."""

    planned: NightPlanned | None = None
    shards: Mapping[Place, Progress] = field(default_factory=dict)
    exit_code: int | None = None
    """Of its report; None before there is one."""

    def after(self, event: Event) -> NightState:
        """An event that the night knows changes nothing, nor does one about what it does not know."""
        if isinstance(event, NightPlanned):
            known = {(target, Shard.parse(shard)): Progress(cases) for target, shard, cases in event.shards}
            return self if self.planned else NightState(event, known)
        if isinstance(event, NightFinished):
            return replace(self, exit_code=event.exit_code)
        place = (event.target, Shard.parse(event.shard))
        known_progress = self.shards.get(place)
        if known_progress is None:
            return self
        return replace(self, shards={**self.shards, place: _after(known_progress, event)})


def _after(progress: Progress, event: AttemptSubmitted | AttemptEnded | ShardSettled) -> Progress:
    last = progress.last.number if progress.last else 0
    if isinstance(event, ShardSettled):
        return replace(progress, settled=event.why) if event.attempt == last else progress
    if isinstance(event, AttemptSubmitted):
        if event.attempt <= last:
            return progress
        # What was given up is taken up again by who submits it.
        attempt = Attempt(event.attempt, event.handle, event.why)
        return replace(progress, attempts=(*progress.attempts, attempt), settled=None)
    status = TaskStatus(event.state, event.exit_code, event.node, event.reason)
    attempts = (
        replace(attempt, status=status) if attempt.number == event.attempt else attempt for attempt in progress.attempts
    )
    return replace(progress, attempts=tuple(attempts))


def replay(events: Iterable[Event], night: NightState | None = None) -> NightState:
    """The state that events amount to."""
    state = night or NightState()
    for event in events:
        state = state.after(event)
    return state


class Journal:
    """The file, and the state that it amounts to. One controller at a time has it open."""

    def __init__(self, folder: Path) -> None:
        """UsageError for a journal that is damaged otherwise than by a cut last line, which is taken away."""
        self.path = folder / JOURNAL
        self.night = replay(read(self.path))
        if self.path.exists():
            with self.path.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)

    def add(self, event: Event) -> None:
        """In the file when this returns. OSError where that cannot be written."""
        document = {**msgspec.to_builtins(event), "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds")}
        append_line(self.path, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self.night = self.night.after(event)


def read(path: Path) -> list[Event]:
    """The events of a journal; none if there is no file. A last line without its end was cut, and counts for nothing.

    UsageError names the line that is none.
    """
    if not path.exists():
        return []
    try:
        data = read_bytes(path)
    except InvalidInput as error:
        raise UsageError(f"{path}: {error}") from None
    return list(_events(path, data))


def _events(path: Path, data: bytes) -> Iterator[Event]:
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            yield shaped(_EVENT, parse_json(line))
        except InvalidInput as error:
            raise UsageError(f"{path}:{number}: {error}: no line of a night; start another with --out") from None
