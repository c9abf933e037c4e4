"""Trials on file, a line each: what was tried is not tried again after a run of hours was cut short."""

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
    """The file, of one tier, target and commit; it need not be there yet."""

    def __init__(self, path: Path, tier: str, target: str, commit: str) -> None:
        self.path = path
        self._of = (tier, target, commit)

    def known(self, faults: Iterable[Fault]) -> dict[str, Trial]:
        """What the file says of these faults, as they are now; by name. A last line that was cut counts for nothing.

        UsageError for a file that is none, or of another tier, target or commit.
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
        """OSError where it cannot be written."""
        tier, target, commit = self._of
        of = {"fault": _digest(trial.fault), "tier": tier, "target": target, "commit": commit}
        append_line(self.path, json.dumps({**of, **trial.as_json()}).encode() + b"\n")

    def _lines(self) -> Sequence[_TrialLine]:
        return lines_of(self.path, _TrialLine, "bitgate faults run --record", self._of)


class OfRun(Struct):
    """What each line says of the run that wrote it."""

    tier: Short
    target: Short
    commit: Short


OwnLine = TypeVar("OwnLine", bound=OfRun)


def lines_of(path: Path, shape: type[OwnLine], command: str, run: tuple[str, str, str]) -> list[OwnLine]:
    """A last line that was cut is taken off the file. UsageError for one that ``command`` did not write, or for another
    tier, target or commit."""
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


class _TrialLine(OfRun):
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
