"""A file of trials, one line each: after an interrupted run of hours, finished trials are not repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import InvalidInput, Seconds, Short, Text, parse_json, read_bytes, shaped
from bitgate.results.record import append_line
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.trial import Trial


class TrialRecord:
    """The record file of one tier, target and commit; it need not exist yet."""

    def __init__(self, path: Path, tier: str, target: str, commit: str) -> None:
        self.path = path
        self._of = (tier, target, commit)

    def known(self, faults: Iterable[Fault]) -> dict[str, Trial]:
        """Return by name the trials of these faults, in their present form. A last line that was cut is ignored.

        Raises UsageError for another file, or one of another tier, target or commit.
        """
        if not self.path.exists():
            return {}
        by_digest = {_digest(fault): fault for fault in faults}
        found = {}
        for line in self._lines():
            fault = by_digest.get(line.fault)
            if fault:
                kinds = tuple(line.kinds)
                found[fault.name] = Trial(
                    fault, line.valid, line.killed, line.by, line.verdict, kinds, line.sentence, line.seconds, line.note
                )
        return found

    def add(self, trial: Trial) -> None:
        """Append a trial. Raises OSError where the file cannot be written."""
        tier, target, commit = self._of
        of = {"fault": _digest(trial.fault), "tier": tier, "target": target, "commit": commit}
        append_line(self.path, json.dumps({**of, **trial.as_json()}).encode() + b"\n")

    def _lines(self) -> Sequence[_TrialLine]:
        return lines_of(self.path, _TrialLine, "bitgate faults run --record", self._of)


class RunLine(Struct):
    """The fields of each line about the run that wrote it."""

    tier: Short
    target: Short
    commit: Short


OwnLine = TypeVar("OwnLine", bound=RunLine)


def lines_of(path: Path, shape: type[OwnLine], command: str, run: tuple[str, str, str]) -> list[OwnLine]:
    """Return the lines of a record; a last line that was cut is removed from the file.

    Raises UsageError for a file that ``command`` did not write, or of another tier, target or commit.
    """
    try:
        whole, _, cut = read_bytes(path).rpartition(b"\n")
        lines = [shaped(shape, parse_json(line)) for line in whole.split(b"\n") if line]
    except InvalidInput as error:
        raise UsageError(f"{path}: not a record of `{command}`: {error}") from None
    if cut:
        with path.open("r+b") as file:
            file.truncate(len(whole) + bool(whole))
    for line in lines:
        if (line.tier, line.target, line.commit) != run:
            was, now = (" ".join(filter(None, of)) for of in ((line.tier, line.target, line.commit), run))
            raise UsageError(f"{path}: is of {was}, and this run is of {now}: give another --record")
    return lines


def _digest(fault: Fault) -> str:
    return sha256("\0".join((fault.file, fault.find, fault.replace, fault.diagnosis)).encode()).hexdigest()[:16]


class _TrialLine(RunLine):
    fault: Short
    name: Short
    valid: bool
    killed: bool
    by: Short
    verdict: Short
    kinds: list[Short]
    sentence: Text
    seconds: Seconds
    note: Text
