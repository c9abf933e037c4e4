"""Timings on record: one line of ``bench.jsonl`` for each candidate that was timed on each problem."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from bitgate.core.untrusted import (
    LONGEST_LINE,
    Count,
    InvalidInput,
    Name,
    Seconds,
    Short,
    Text,
    parse_json,
    read_bytes,
    shaped,
)
from bitgate.results.record.event import BadLine, RecordError, append_line
from bitgate.results.record.identity import Key

SCHEMA = 1


class TimingStatus(str, Enum):
    """The end of one attempt at a timing. Only what was verified is ever timed."""

    TIMED = "timed"
    NOT_VERIFIED = "not verified"
    """The verdict is no PASS, or the bits had changed after the timing: ``verdict`` and ``reason`` say which."""
    REFUSED = "refused"
    """The kernel does not take the problem."""
    OVER_BUDGET = "over budget"
    """The time of the shape was up before there were enough samples."""
    FAILED = "failed"
    """The process died or hung while it was timed, or the device was lost."""


class Timing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The timing of one candidate on one problem.

    ``side`` is the arm (A or B; empty where nothing is compared), ``build`` the sources that it was built of (a commit;
    empty: this tree). ``seconds`` are device seconds a launch, one sample each in the order of the rounds
    (``settings.batch`` launches make one sample). ``rounds`` is the round that each sample belongs to, ``host_seconds``
    the time that one launch took of the calling thread. ``includes`` names what runs in addition to the kernels that
    compute (zero-fill, transposes, casts). ``clocks`` has ``sm_mhz``, ``memory_mhz``, ``celsius``, ``watts`` as
    [least, most], where the platform reports them.
    """

    schema: int
    plan: Short = ""
    name: Short = ""
    sweep: Short = ""
    side: Short = ""
    build: Short = ""
    case: Name
    kernel: Name
    instance: Name
    options: Mapping[Short, Short] = msgspec.field(default_factory=dict)
    fill: Name
    seed: Count
    schedule: Short
    target: Name
    human: Short = ""
    platform: Short
    device: Mapping[str, Short]
    status: TimingStatus
    verdict: Short = ""
    reason: Text = ""
    digest: Short = ""
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict)
    includes: tuple[Short, ...] = ()
    launches: Count = 0
    seconds: tuple[Seconds, ...] = ()
    rounds: tuple[Count, ...] = ()
    host_seconds: Seconds = 0.0
    clocks: Mapping[str, tuple[float, float]] = msgspec.field(default_factory=dict)
    flops: Count = 0
    bytes: Count = 0
    foreign: Text = ""
    repro: Text = ""
    fingerprint: Mapping[str, Any] = msgspec.field(default_factory=dict)
    run: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> Key:
        return Key(
            self.case,
            self.kernel,
            self.instance,
            tuple(sorted(self.options.items())),
            self.fill,
            self.seed,
            self.schedule,
            self.target,
        )

    @property
    def identity(self) -> tuple[Any, ...]:
        """Key, side and build: rows that agree in them are attempts at the same timing."""
        return (self.key, self.side, self.build)


def write(path: Path, row: Timing) -> None:
    """Append a row in one write. OSError if it cannot be written."""
    append_line(path, json.dumps(msgspec.to_builtins(row), separators=(",", ":")).encode() + b"\n")


def scan(path: Path) -> Iterator[Timing | BadLine]:
    """Yield a timing or a BadLine for every line of a file. RecordError if it cannot be read at all."""
    try:
        lines = read_bytes(path).split(b"\n")
    except InvalidInput as error:
        raise RecordError(f"{path}: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _timing(line)
        except InvalidInput as error:
            yield BadLine(number, f"not a timing: {error}", cut=number == len(lines))  # no newline after it


def timings(path: Path) -> Iterator[Timing]:
    """Yield the rows of a file that this machine wrote.

    A last line that a crash cut short is left out. RecordError names file and line of any other bad one.
    """
    for found in scan(path):
        if isinstance(found, Timing):
            yield found
        elif not found.cut:
            raise RecordError(f"{path}:{found.number}: {found.why}")


def _timing(line: bytes) -> Timing:
    if len(line) > LONGEST_LINE:
        raise InvalidInput(f"a line of {len(line)} bytes")
    row = shaped(Timing, parse_json(line))
    if row.schema != SCHEMA:
        raise InvalidInput(f"schema {row.schema}, not {SCHEMA}: written by another version of bitgate")
    if row.status is TimingStatus.TIMED and not (row.seconds and min(row.seconds) > 0):
        raise InvalidInput("timed, without a sample or with one of 0 s")
    if row.status is TimingStatus.TIMED and row.verdict not in ("", "PASS"):
        raise InvalidInput(f"timed, and its verdict is {row.verdict}: only what passes is timed")
    if len(row.rounds) != len(row.seconds):
        raise InvalidInput(f"{len(row.seconds)} samples of {len(row.rounds)} rounds")
    return row
