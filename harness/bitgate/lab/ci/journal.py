"""The journal of a night, ``night.jsonl``: one event a line, whose sum is the state of the night.

A controller may be killed at any moment. Every prefix of a journal is a state from which another controller can go on;
a line that was cut counts as not written.
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
"""Time limit of a task about which nothing is known."""

Place: TypeAlias = tuple[str, Shard]
"""Target and shard."""


class Seat(Struct, frozen=True):
    """The requirements of a target's tasks, as in ``Task``; ``minutes`` by shard, in their order."""

    minutes: tuple[Seconds, ...] = ()
    constraint: Short = ""
    gpus: Count = 0
    exclusive: bool = False
    environment: dict[Short, Text] = {}

    def minutes_of(self, shard: Shard) -> float:
        return self.minutes[shard.index - 1] if shard.index <= len(self.minutes) else MINUTES


class NightPlanned(Struct, tag_field="event", tag="planned", frozen=True):
    """The first event: what another controller needs in addition to ``plan.json``.

    ``arguments`` and ``environment`` are those of every ``bitgate run``, in the folder ``root``; ``jobs`` and
    ``options`` are the engine's.
    """

    night: Short
    plan: Short
    root: Text
    executor: Short
    jobs: Count = 0
    options: dict[Short, Text] = {}
    arguments: tuple[Text, ...] = ()
    environment: dict[Short, Text] = {}
    shards: tuple[tuple[Name, ShardText, Count], ...] = ()
    """Target, shard, and number of cases, in the order in which the shards begin."""
    seats: dict[Name, Seat] = {}


class AttemptSubmitted(Struct, tag_field="event", tag="submitted", frozen=True):
    """An attempt was submitted. ``why`` it runs again; empty for a first attempt."""

    target: Name
    shard: ShardText
    attempt: Count
    handle: Text
    why: Text = ""


class AttemptEnded(Struct, tag_field="event", tag="ended", frozen=True):
    """An attempt ended."""

    target: Name
    shard: ShardText
    attempt: Count
    state: TaskState
    exit_code: int | None = None
    node: Short = ""
    reason: Text = ""


class ShardSettled(Struct, tag_field="event", tag="settled", frozen=True):
    """No more of this shard is run after this attempt. ``why`` is empty if it has all its answers."""

    target: Name
    shard: ShardText
    attempt: Count
    why: Text = ""


class NightFinished(Struct, tag_field="event", tag="finished", frozen=True):
    """The night was merged, with this exit code."""

    exit_code: int


Event: TypeAlias = NightPlanned | AttemptSubmitted | AttemptEnded | ShardSettled | NightFinished
_EVENT: Any = Event


@dataclass(frozen=True)
class Attempt:
    """An attempt at a shard. ``status`` is its end, None while it is running."""

    number: int
    handle: str
    why: str = ""
    status: TaskStatus | None = None


@dataclass(frozen=True)
class Progress:
    """One shard of one target. ``settled`` says why no more of it is run, None while more may be."""

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
    """The state of a night. ``planned`` is None before its first event."""

    planned: NightPlanned | None = None
    shards: Mapping[Place, Progress] = field(default_factory=dict)
    exit_code: int | None = None
    """The exit code of its report; None before there is one."""

    def after(self, event: Event) -> NightState:
        """Return the state after an event. Known events, and events about unknown shards, change nothing."""
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
        # A shard that was given up is taken up again by submitting it.
        attempt = Attempt(event.attempt, event.handle, event.why)
        return replace(progress, attempts=(*progress.attempts, attempt), settled=None)
    status = TaskStatus(event.state, event.exit_code, event.node, event.reason)
    attempts = (
        replace(attempt, status=status) if attempt.number == event.attempt else attempt for attempt in progress.attempts
    )
    return replace(progress, attempts=tuple(attempts))


def replay(events: Iterable[Event], night: NightState | None = None) -> NightState:
    """Return the state after all events."""
    state = night or NightState()
    for event in events:
        state = state.after(event)
    return state


class Journal:
    """A journal file and its state. One controller at a time has it open."""

    def __init__(self, folder: Path) -> None:
        """Open the journal; a cut last line is removed. Raises UsageError for other damage."""
        self.path = folder / JOURNAL
        self.night = replay(read(self.path))
        if self.path.exists():
            with self.path.open("r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)

    def add(self, event: Event) -> None:
        """Append an event; it is in the file on return. Raises OSError where that cannot be written."""
        document = {**msgspec.to_builtins(event), "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds")}
        append_line(self.path, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self.night = self.night.after(event)


def read(path: Path) -> list[Event]:
    """Return the events of a journal; none if there is no file. A cut last line is ignored.

    Raises UsageError with the number of a line that is not an event.
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
            raise UsageError(f"{path}:{number}: {error}: not a line of a night; start another with --out") from None
