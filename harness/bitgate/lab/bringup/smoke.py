"""Step 8: the first tier in a separate process, as ``bitgate run`` runs it; its record goes into the bundle."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import bitgate
from bitgate.core.untrusted import InvalidInput, parse_json
from bitgate.lab.bringup.finding import BringupStep, FaultDomain, RedCase, StepFinding, StepResult, blamed
from bitgate.lab.bringup.server import SAID
from bitgate.worker.child import kill_marked

MARK = "BITGATE_FIRST_CONTACT"
"""A variable in the environment of all processes of the run, so that none outlives it."""

GRACE_SECONDS = 20.0
"""Seconds between a Ctrl-C that is passed on and the kill."""

RECORD, LOG = "results.jsonl", "run.log"
REPORT_SECONDS = 10.0


def smoke(step: BringupStep, arguments: Sequence[str], folder: Path, report: Callable[[str], None]) -> StepFinding:
    """Run the tier. ``folder`` holds its results and output afterwards, also after an interrupt."""
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    package = str(Path(bitgate.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "BITGATE_OUT": str(folder), "PYTHONPATH": path, MARK: token}
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bitgate", "run", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            code = _waited(process, step.seconds, folder, report)
        finally:
            if process.poll() is None:
                _end(process)
            kill_marked(MARK, token)
    return _finding(step, code, *_record(folder), _last_line(folder / LOG))


def records_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob(RECORD))


def _waited(
    process: subprocess.Popen[bytes], seconds: float, folder: Path, report: Callable[[str], None]
) -> int | None:
    """Return the exit code; None if it took longer than ``seconds``."""
    begun = reported = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0.2)
        now = time.monotonic()
        if now - begun > seconds:
            return None
        if now - reported > REPORT_SECONDS:
            reported = now
            report(f"{sum(path.read_bytes().count(bytes([10])) for path in records_in(folder))} verdicts")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the run as a terminal would, then by force."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            return


def _record(folder: Path) -> tuple[int, int, tuple[RedCase, ...]]:
    """Return the number of verdicts, of those that compared something, and the red ones."""
    verdicts = compared = 0
    reds = []
    for path in records_in(folder):
        for line in path.read_bytes().split(b"\n"):
            try:
                event = parse_json(line) if line else None
            except InvalidInput:
                continue
            if isinstance(event, dict) and "verdict" in event:
                verdicts += 1
                compared += bool(event.get("compared"))
                if not event.get("green"):
                    reds.append(RedCase(event))
    return verdicts, compared, tuple(reds)


def _finding(
    step: BringupStep, code: int | None, verdicts: int, compared: int, reds: tuple[RedCase, ...], last: str
) -> StepFinding:
    detail = {"exit_code": code, "verdicts": verdicts}
    if code == 0:
        return StepFinding(step.name, StepResult.GREEN, f"{verdicts} verdicts green", compared=compared, detail=detail)
    if code is None:
        sentence, blames = f"unfinished after {step.seconds:g} s, with {verdicts} verdicts", step.blames
    elif reds:
        first = reds[0]
        blames = blamed(step, reds)
        sentence = f"{len(reds)} of {verdicts} verdicts red; {first.kernel}: {first.sentence}"
    else:
        blames = step.blames if code == 1 else FaultDomain.INSTALLATION
        sentence = f"exit code {code}, {verdicts} verdicts: {last}"
    sentence = " ".join(sentence.split())[:SAID]
    return StepFinding(step.name, StepResult.RED, sentence, blames=blames, compared=compared, reds=reds, detail=detail)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
