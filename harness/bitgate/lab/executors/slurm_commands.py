"""Slurm's commands, called with retries: slurmctld may be restarted in the middle of a night."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bitgate.core.errors import UsageError
from bitgate.lab.executors.slurm_states import JobEnd, end_of, end_of_account, is_silence

ANSWER_SECONDS = 100.0
"""Time limit of a command, which gives up after ten times Slurm's MessageTimeout of 10 s (sites may set more)."""
AGAIN_SECONDS = 2.0

_FILTERS = ("SQUEUE_", "SCANCEL_", "SBATCH_WAIT", "SACCT_")
"""Variables of a user's shell that would hide jobs, or wait for them."""


class SlurmSilent(Exception):
    """slurmctld did not answer; the message is the command's."""


class SlurmRefused(Exception):
    """A command was answered, and failed; the message is its output, on one line."""


@dataclass(frozen=True)
class Queued:
    """A job as squeue lists it, ``12_3`` for an element of an array.

    It stays listed for some minutes after its end (MinJobAge). A slurmctld that crashed may reuse the number of a job
    that it forgot: the name distinguishes them.
    """

    job: str
    name: str
    word: str
    node: str
    reason: str


class Commands:
    """A caller of Slurm's commands. ``patience``: seconds without an answer after which it is an error."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._silent_since: float | None = None
        self._has_accounts = True
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith(_FILTERS)}

    def ask(self, *command: str, stdin: str = "") -> str:
        """Return the output of a command.

        Raises SlurmSilent, SlurmRefused, or UsageError if Slurm is not installed.
        """
        try:
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                env=self._environment,
                timeout=ANSWER_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            raise UsageError(
                f"{command[0]} is not on this machine: start the night where Slurm is (Debian: slurm-client)"
            ) from None
        except subprocess.TimeoutExpired:
            raise SlurmSilent(f"{command[0]} was not answered within {ANSWER_SECONDS:g} s") from None
        complaint = " ".join(done.stderr.split())
        if is_silence(complaint):
            raise SlurmSilent(complaint)
        if done.returncode:
            raise SlurmRefused(complaint or f"{command[0]} ended with {done.returncode}")
        self._answered()
        return done.stdout

    def ask_until_answered(self, *command: str, stdin: str = "") -> str:
        """Repeat ``ask`` until it is answered. Raises UsageError after ``patience``."""
        while True:
            try:
                return self.ask(*command, stdin=stdin)
            except SlurmSilent as silence:
                self.note_silence(silence)
                time.sleep(AGAIN_SECONDS)

    def note_silence(self, silence: SlurmSilent) -> str:
        """Return the silence in words, and print a line when it begins. Raises UsageError if it has lasted too long."""
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
            _say(f"Slurm does not answer ({silence}); jobs go on; retrying for {self._patience / 60:g} min")
        lasted = now - self._silent_since
        if lasted > self._patience:
            raise UsageError(
                f"Slurm has not answered for {lasted / 60:.0f} min ({silence}): jobs may still run;"
                " once slurmctld is back, go on with --resume"
            )
        return f"Slurm has not answered for {lasted:.0f} s"

    def queued(self, arrays: Iterable[str]) -> list[Queued]:
        """Return the jobs of these arrays, one for each element, as far as Slurm still knows them. Raises
        SlurmSilent."""
        return self._queue(f"--jobs={','.join(dict.fromkeys(arrays))}")

    def queued_as(self, name: str) -> list[Queued]:
        """Return all jobs of this name. Raises SlurmSilent."""
        return self._queue(f"--name={name}")

    def _queue(self, which: str) -> list[Queued]:
        try:
            listed = self.ask("squeue", "--noheader", "--array", "--states=all", which, "--format=%i|%j|%T|%N|%r")
        except SlurmRefused as refused:
            if "Invalid job id" in str(refused):
                return []
            raise SlurmSilent(f"squeue: {refused}") from None
        rows = (line.strip().split("|", 4) for line in listed.splitlines())
        return [Queued(*row) for row in rows if len(row) == 5]

    def end(self, job: str, name: str) -> JobEnd | None:
        """Return how a job ended; None if neither Slurm nor its accounting, if any, knows it. Raises SlurmSilent."""
        try:
            described = self.ask("scontrol", "show", "job", "--oneliner", job).splitlines()
        except SlurmRefused:
            described = []
        mine = [line for line in described if f" JobName={name} " in line]
        return end_of(mine[-1]) if mine else self._accounted(job, name)

    def _accounted(self, job: str, name: str) -> JobEnd | None:
        if not self._has_accounts:
            return None
        command = ("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", f"--name={name}")
        try:
            listed = self.ask(*command, "--format=State,ExitCode,NodeList").splitlines()
        except (SlurmRefused, SlurmSilent, UsageError):  # no slurmdbd: most small labs
            self._has_accounts = False
            return None
        return end_of_account(listed[-1]) if listed else None

    def cancel(self, name: str, jobs: Sequence[str]) -> None:
        """Cancel those jobs of this name that are running. Raises UsageError after ``patience``."""
        try:
            self.ask_until_answered("scancel", "--quiet", f"--name={name}", *jobs)
        except SlurmRefused as refused:
            _say(f"scancel: {refused}")

    def config(self) -> Mapping[str, str]:
        """Return Slurm's settings. Raises UsageError if it has none here, or after ``patience``."""
        try:
            lines = self.ask_until_answered("scontrol", "show", "config").splitlines()
        except SlurmRefused as refused:
            raise UsageError(f"scontrol: {refused}") from None
        rows = (line.partition("=") for line in lines)
        return {name.strip(): value.strip() for name, equals, value in rows if equals}

    def _answered(self) -> None:
        if self._silent_since is not None:
            _say(f"Slurm answers again, after {time.monotonic() - self._silent_since:.0f} s")
            self._silent_since = None


def _say(line: str) -> None:
    print(f"bitgate: {line}", file=sys.stderr, flush=True)
