"""Meanings of Slurm's words for a task: states of jobs, reasons for which they wait, refusals of ``sbatch``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from bitgate.lab.executors.executor import TaskState

WARNING_SECONDS = 60
"""Time before its limit at which a job gets a signal, so that it can end in order."""

_STATES = {
    "PENDING": TaskState.WAITING,
    "CONFIGURING": TaskState.WAITING,
    "REQUEUED": TaskState.WAITING,
    "REQUEUE_HOLD": TaskState.WAITING,
    "RESV_DEL_HOLD": TaskState.WAITING,
    "SPECIAL_EXIT": TaskState.WAITING,
    "RUNNING": TaskState.RUNNING,
    "COMPLETING": TaskState.RUNNING,
    "RESIZING": TaskState.RUNNING,
    "SIGNALING": TaskState.RUNNING,
    "STAGE_OUT": TaskState.RUNNING,
    "STOPPED": TaskState.RUNNING,
    "SUSPENDED": TaskState.RUNNING,
    "COMPLETED": TaskState.ENDED,
    "FAILED": TaskState.ENDED,
    "NODE_FAIL": TaskState.NODE_FAILED,
    "BOOT_FAIL": TaskState.NODE_FAILED,
    "PREEMPTED": TaskState.PREEMPTED,
    "TIMEOUT": TaskState.TIMED_OUT,
    "DEADLINE": TaskState.TIMED_OUT,
    "OUT_OF_MEMORY": TaskState.OUT_OF_MEMORY,
    "CANCELLED": TaskState.CANCELLED,
    "REVOKED": TaskState.CANCELLED,
}


def state_of(word: str) -> TaskState:
    """Return the state for a word of Slurm, also as sacct writes it: ``CANCELLED by 1000`` and ``CANCELLED+``.

    A word of a later Slurm counts as running: the task's files show when it ends.
    """
    return _STATES.get(re.split(r"[ +]", word.strip(), maxsplit=1)[0], TaskState.RUNNING)


class Wait(Enum):
    """The thing that a job waits for."""

    TURN = "its turn"
    PEOPLE = "an administrator who brings machines back, or releases the job"
    EVER = "what will never come"


_EVER = re.compile(
    "BadConstraints|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|PartitionNodeLimit|PartitionTimeLimit"
    "|.*Per(Job|JobLimit)$"
)
_TURN = re.compile(
    r"$|\(null\)$|None|Priority|Resources|Dependency|BeginTime|Licenses|Reservation$|Prolog|Cleaning|JobArrayTaskLimit"
    r"|FedJobLock|PowerReserved|(Assoc|QOS|Max)\w+"
)
"""Reasons that end by themselves. With any other, known or not, people must do something."""


def wait_of(reason: str) -> Wait:
    """Return what a pending job waits for, by squeue's reason, which a list of nodes may follow."""
    if _EVER.match(reason):
        return Wait.EVER
    return Wait.TURN if _TURN.match(reason) else Wait.PEOPLE


_SHORT = re.compile(rb"error: (Exceeded job memory limit|.* exceeded memory limit|Detected \d+ oom.kill event)")
TAIL_BYTES = 4096

_NO_MACHINE = (
    "Invalid feature specification",
    "Requested node configuration is not available",
    "Requested partition configuration not available",
    "Memory specification can not be satisfied",
    "CPU count per node can not be satisfied",
    "Node count specification invalid",
    "Invalid generic resource (gres) specification",
    "Requested time limit is invalid",
)
_NO_ANSWER = (
    "Unable to contact slurm controller",
    "Unable to establish controller machine",
    "Could not establish a configuration source",
    "Slurm backup controller in standby mode",
    "Slurm temporarily unable to accept job",
    "Protocol authentication error",
    "Invalid authentication credential",
    "Authentication credential expired",
    "Connection refused",
    "Connection timed out",
    "Socket timed out",
    "Zero Bytes were transmitted or received",
    "Unexpected message received",
    "Resource temporarily unavailable",
)


def names_no_machine(complaint: str) -> bool:
    """Say whether sbatch complains that no machine of the pool meets the requirements."""
    return any(words in complaint for words in _NO_MACHINE)


def is_silence(complaint: str) -> bool:
    """Say whether a command complains that slurmctld did not answer, so that it may answer later."""
    return any(words in complaint for words in _NO_ANSWER)


def ends_short_of_memory(log: Path) -> bool:
    """Say whether a job's output ends with Slurm's note that it took too much memory.

    A Slurm that watches memory itself (OverMemoryKill) reports the state FAILED.
    """
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return bool(_SHORT.search(file.read()))
    except OSError:
        return False


@dataclass(frozen=True)
class JobEnd:
    """The end of a job.

    ``signal`` is 0 if it did not die of one; ``warned``: it ended so late that Slurm had sent it a signal.
    """

    state: TaskState
    word: str
    exit_code: int = 0
    signal: int = 0
    node: str = ""
    warned: bool = False


def end_of(described: str) -> JobEnd:
    """Parse a line of ``scontrol show job --oneliner``."""
    found = dict(re.findall(r"(\w+)=(\S*)", described))
    end = _end(found.get("JobState", ""), found.get("ExitCode", ""), found.get("NodeList", ""))
    ran, limit = (_seconds(found.get(name, "")) for name in ("RunTime", "TimeLimit"))
    return replace(end, warned=bool(limit) and ran >= limit - WARNING_SECONDS)


def end_of_account(line: str) -> JobEnd:
    """Parse a line of ``sacct --parsable2 --format=State,ExitCode,NodeList``."""
    word, code, nodes = [*line.split("|"), "", ""][:3]
    return _end(word, code, nodes)


def _end(word: str, codes: str, nodes: str) -> JobEnd:
    numbers = re.fullmatch(r"(\d+):(\d+)", codes)
    code, signal = map(int, numbers.groups()) if numbers else (0, 0)
    node = nodes if re.fullmatch(r"[\w.-]+", nodes) else ""
    return JobEnd(state_of(word), word, code, signal, node)


def _seconds(text: str) -> int:
    """Parse a duration such as ``1-02:03:04``; 0 for UNLIMITED."""
    numbers = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if not numbers:
        return 0
    days, hours, minutes, seconds = (int(number or 0) for number in numbers.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
