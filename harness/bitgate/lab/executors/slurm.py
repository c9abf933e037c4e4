"""Slurm as an engine: an array of jobs for each target.

It uses Slurm's commands instead of submitit, which pickles what runs and, without slurmdbd, infers a job's end from
sacct's errors. Here a job is ``bitgate.lab.ci.task`` with a file, and its end is a file. squeue and scontrol explain a
missing one; sacct is used only where it answers.

Slurm requeues nothing (``--no-requeue``): it would start the job again in the folder of the first attempt, and forget
why that ended. The night's controller sees NODE_FAIL, PREEMPTED or TIMEOUT, and submits another attempt with another
number and folder.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from operator import attrgetter
from pathlib import Path

from bitgate.core.errors import UsageError, near
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import Executor, Task, TaskState, TaskStatus
from bitgate.lab.executors.slurm_commands import AGAIN_SECONDS, Commands, Queued, SlurmRefused, SlurmSilent
from bitgate.lab.executors.slurm_states import (
    WARNING_SECONDS,
    JobEnd,
    Wait,
    ends_short_of_memory,
    names_no_machine,
    state_of,
    wait_of,
)
from bitgate.worker.child import signal_name

PATIENCE_MINUTES = 30.0
"""Limit without an answer of slurmctld: an upgrade takes this long."""
ABSENCE_MINUTES = 10.0
"""Time for a drained machine or a held job to come back, before a cell counts as without capacity."""
MARGIN_MINUTES = 2
"""Margin of Slurm's limit over the task's, which ends it in order."""
CANCEL_SECONDS = 60.0
"""Limit of a cancellation: Slurm kills what is left 30 s after its SIGTERM (KillWait)."""
ARRIVAL_SECONDS = 30.0
"""Seconds for a file of another machine to become visible: NFS caches that it did not exist."""
MOST_IN_ARRAY = 1000

PASSED_ON = (
    "account",
    "cluster-constraint",
    "cpus-per-gpu",
    "cpus-per-task",
    "exclude",
    "gres",
    "licenses",
    "mem",
    "mem-per-cpu",
    "mem-per-gpu",
    "nice",
    "nodelist",
    "partition",
    "qos",
    "reservation",
)
"""Options of sbatch that ``--option NAME=VALUE`` may state; Slurm reads ``$SBATCH_PARTITION`` and the like too."""
ALL_MEMORY = {"mem": "0"}
"""sbatch's request for all the memory of a node, in place of what the options state."""
OWN = {"patience": PATIENCE_MINUTES, "absence": ABSENCE_MINUTES}
"""Options of this executor, in minutes."""


@dataclass(frozen=True)
class Handle:
    """A job: an element of an array, ``12_3``, the array's name, and the folder of its task.

    Without ``job`` Slurm refused it, for ``reason``.
    """

    job: str
    name: str = ""
    folder: Path = Path()
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.job}:{self.name}:{self.folder}" if self.job else f"refused:{self.reason}"

    @classmethod
    def parse(cls, text: str) -> Handle:
        job, _, rest = text.partition(":")
        name, _, folder = rest.partition(":")
        return cls("", reason=rest) if job == "refused" else cls(job, name, Path(folder))


class Slurm:
    """The Slurm executor. ``at_once``: most running jobs of a target, 0: all. ``options``: of sbatch, for every job."""

    name = "slurm"

    def __init__(
        self,
        logs: Path,
        at_once: int = 0,
        options: Mapping[str, str] | None = None,
        patience_minutes: float = PATIENCE_MINUTES,
        absence_minutes: float = ABSENCE_MINUTES,
    ) -> None:
        self._logs = logs
        self._at_once = at_once
        self._options = dict(options or {})
        self._absence = 60 * absence_minutes
        self._commands = Commands(60 * patience_minutes)
        self._absent_since: dict[str, float] = {}
        self._awaited_since: dict[str, float] = {}
        self._given_up: dict[str, TaskStatus] = {}

    def submit(self, new: Sequence[Task]) -> Sequence[str]:
        """Submit all tasks or none: an interrupt, or a refusal of the last of several arrays, leaves no job."""
        self._logs.mkdir(parents=True, exist_ok=True)
        most = min(MOST_IN_ARRAY, int(self._commands.config().get("MaxArraySize", "1001")))
        if most < 1:
            raise UsageError("this Slurm takes no arrays (MaxArraySize is 0): set it in slurm.conf")
        arrays = [alike[first : first + most] for alike in _alike(new) for first in range(0, len(alike), most)]
        handles: dict[Path, Handle] = {}
        try:
            for alike in arrays:
                for task in alike:
                    tasks.store(task)
                handles |= self._submit(alike)
        except BaseException:
            for alike in arrays:
                with suppress(SlurmSilent, SlurmRefused):
                    self._commands.ask("scancel", "--quiet", f"--name={_name_of(alike)}")
            raise
        return [str(handles[task.folder]) for task in new]

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        found: dict[str, TaskStatus] = {}
        unfinished: dict[str, Handle] = {}
        for text in handles:
            handle = Handle.parse(text)
            if status := self._given_up.get(text):
                found[text] = status
            elif not handle.job:
                found[text] = TaskStatus(TaskState.NO_CAPACITY, reason=handle.reason)
            elif (exited := tasks.ended(handle.folder)) and _is_conclusive(exited):
                found[text] = exited
            else:
                unfinished[text] = handle
        try:
            known = (
                self._commands.queued(handle.job.split("_")[0] for handle in unfinished.values()) if unfinished else []
            )
        except SlurmSilent as silence:
            reason = self._commands.note_silence(silence)
            return found | {text: _status_by_files(handle, reason) for text, handle in unfinished.items()}
        jobs = {(job.job, job.name): job for job in known}
        return found | {
            text: self._status(text, handle, jobs.get((handle.job, handle.name))) for text, handle in unfinished.items()
        }

    def cancel(self, handles: Sequence[str]) -> None:
        named = attrgetter("name")
        for name, same in groupby(sorted(map(Handle.parse, handles), key=named), key=named):
            if name:
                self._commands.cancel(name, [handle.job for handle in same])
        until = time.monotonic() + CANCEL_SECONDS
        while time.monotonic() < until:
            if all(status.state.over for status in self.poll(handles).values()):
                return
            time.sleep(AGAIN_SECONDS / 2)

    def _submit(self, alike: Sequence[Task]) -> dict[Path, Handle]:
        """Submit one array."""
        name, avoid = _name_of(alike), alike[0].avoid
        while True:
            try:
                array = self._queued_before(name) or self._sbatch(name, alike, avoid)
                return {task.folder: Handle(f"{array}_{index}", name, task.folder) for index, task in enumerate(alike)}
            except SlurmSilent as silence:
                self._commands.note_silence(silence)
                time.sleep(AGAIN_SECONDS)
            except SlurmRefused as refused:
                if avoid and (names_no_machine(str(refused)) or "Invalid node name" in str(refused)):
                    avoid = ()  # the same machine is better than none
                elif names_no_machine(str(refused)):
                    return {task.folder: Handle("", reason=_without_prefix(refused)) for task in alike}
                else:
                    raise UsageError(f"sbatch, for {alike[0].target}: {_without_prefix(refused)}") from None

    def _queued_before(self, name: str) -> str:
        """Return the id of an array that is queued already, or an empty text.

        A controller may die, or Slurm restart, between sbatch's request and its answer. Refused and withdrawn arrays
        are listed too, and left out here.
        """
        known = (job for job in self._commands.queued_as(name) if job.reason != "BadConstraints")
        live = (job for job in known if state_of(job.word) is not TaskState.CANCELLED)
        return max((job.job.split("_")[0] for job in live), key=int, default="")

    def _sbatch(self, name: str, alike: Sequence[Task], avoid: Sequence[str]) -> str:
        first = alike[0]
        stated = {
            "array": f"0-{len(alike) - 1}" + (f"%{self._at_once}" if self._at_once else ""),
            "job-name": name,
            "nodes": "1",
            "ntasks": "1",
            "time": str(ceil(max(task.minutes for task in alike)) + MARGIN_MINUTES),
            "signal": f"B:TERM@{WARNING_SECONDS}",  # to the wrapper alone
            "output": f"{str(self._logs).replace('%', '%%')}/%A_%a.out",
        }
        if first.constraint:
            stated["constraint"] = first.constraint
        if first.gpus:
            stated["gres"] = f"gpu:{first.gpus}"
        stated |= self._options
        if first.all_memory:
            stated = {name: value for name, value in stated.items() if not name.startswith("mem")} | ALL_MEMORY
        if avoid:
            stated["exclude"] = ",".join([*filter(None, [stated.get("exclude")]), *avoid])
        options = [f"--{option}={value}" for option, value in stated.items()]
        options += ["--parsable", "--no-requeue", *(["--exclusive"] if first.exclusive else [])]
        return self._commands.ask("sbatch", *options, stdin=script(alike)).split(";")[0].strip()

    def _status(self, text: str, handle: Handle, job: Queued | None) -> TaskStatus:
        state = state_of(job.word) if job else None
        if job and state is TaskState.WAITING:
            return self._waiting(text, handle, job)
        if job and state is TaskState.RUNNING:
            return TaskStatus(TaskState.RUNNING, node=job.node)
        try:
            end = self._commands.end(handle.job, handle.name)
        except SlurmSilent as silence:
            return _status_by_files(handle, self._commands.note_silence(silence))
        exited = tasks.ended(handle.folder)  # again: it may have arrived since
        if end and end.state is not TaskState.ENDED:
            return TaskStatus(end.state, exited.exit_code if exited else None, end.node, f"Slurm says {end.word}")
        if exited and exited.state is TaskState.CANCELLED and end and end.warned:
            return replace(exited, state=TaskState.TIMED_OUT, reason="Slurm's limit came before the task's")
        if exited:
            return exited
        return self._without_exit_file(text, handle, end)

    def _waiting(self, text: str, handle: Handle, job: Queued) -> TaskStatus:
        wait = wait_of(job.reason)
        if wait is Wait.TURN:
            self._absent_since.pop(text, None)
            return TaskStatus(TaskState.WAITING, reason=job.reason)
        since = self._absent_since.setdefault(text, time.monotonic())
        if wait is Wait.PEOPLE and time.monotonic() - since < self._absence:
            return TaskStatus(TaskState.WAITING, reason=job.reason)
        self._commands.cancel(handle.name, [handle.job])  # it must not start later, when it is no longer needed
        self._given_up[text] = TaskStatus(TaskState.NO_CAPACITY, reason=job.reason)
        return self._given_up[text]

    def _without_exit_file(self, text: str, handle: Handle, end: JobEnd | None) -> TaskStatus:
        """Return the status of a job that is over but left no exit file."""
        begun = tasks.process_of(handle.folder)
        node = (end and end.node) or (begun.node if begun else "")
        if end is None:
            return TaskStatus(TaskState.LOST, node=node, reason=f"Slurm does not know job {handle.job} any more")
        log = self._logs / f"{handle.job}.out"
        if end.signal and ends_short_of_memory(log):
            return TaskStatus(
                TaskState.OUT_OF_MEMORY, node=node, reason=f"Slurm ended it for lack of memory: see {log}"
            )
        if end.signal:
            return TaskStatus(TaskState.LOST, node=node, reason=f"its job died of {signal_name(end.signal)}")
        since = self._awaited_since.setdefault(text, time.monotonic())
        if time.monotonic() - since < ARRIVAL_SECONDS:
            return TaskStatus(TaskState.RUNNING, node=node, reason=f"over, and its {tasks.EXIT} is awaited")
        if begun or not end.exit_code:
            return TaskStatus(TaskState.LOST, node=node, reason=f"its job ended and left no {tasks.EXIT}: see {log}")
        return TaskStatus(TaskState.ENDED, end.exit_code, node, f"its job did not begin its task: see {log}")


def _name_of(alike: Sequence[Task]) -> str:
    """Return the array's name, the same whenever these tasks are submitted."""
    digest = hashlib.sha256("\n".join(str(task.folder) for task in alike).encode()).hexdigest()
    return f"bitgate-{alike[0].target}-{digest[:12]}"


def script(alike: Sequence[Task]) -> str:
    """Return the script for sbatch: each element of the array becomes the wrapper of its task."""
    lines = ["#!/bin/sh", "case $SLURM_ARRAY_TASK_ID in"]
    for index, task in enumerate(alike):
        lines.append(f"{index}) exec {shlex.join(tasks.wrapper(task.folder / tasks.TASK))} ;;")
    return "\n".join([*lines, "esac", ""])


def _alike(new: Sequence[Task]) -> Iterator[list[Task]]:
    """Group tasks of one target with the same requirements, one array for each group."""

    def asks(task: Task) -> tuple[str, str, int, bool, bool, tuple[str, ...]]:
        return task.target, task.constraint, task.gpus, task.exclusive, task.all_memory, task.avoid

    for _, same in groupby(sorted(new, key=asks), key=asks):
        yield list(same)


def _is_conclusive(exited: TaskStatus) -> bool:
    """Say whether an exit file needs no query to Slurm: the run was green, or said itself how it ended.

    Slurm knows whose signal it was. It signals the run and its wrapper at the same time, so the run may be dead before
    the wrapper gets the signal. Slurm also knows that a process of a red run was killed for lack of memory.
    """
    is_final = exited.state not in (TaskState.ENDED, TaskState.CANCELLED)
    return is_final or (exited.state is TaskState.ENDED and exited.exit_code == 0)


def _status_by_files(handle: Handle, reason: str) -> TaskStatus:
    """Return the status from a task's files, while Slurm does not answer."""
    process = tasks.process_of(handle.folder)
    return TaskStatus(
        TaskState.RUNNING if process else TaskState.WAITING, node=process.node if process else "", reason=reason
    )


def _without_prefix(refused: SlurmRefused) -> str:
    return str(refused).replace("sbatch: error: ", "").replace("Batch job submission failed: ", "")


def make(night: Path, jobs: int, options: Mapping[str, str]) -> Executor:
    minutes, passed_on = dict(OWN), {}
    for name, value in options.items():
        if name in PASSED_ON:
            passed_on[name] = value
        elif name not in OWN:
            raise UsageError(f"--option {name}: slurm: {near(name, [*OWN, *PASSED_ON])}")
        elif not value.replace(".", "", 1).isdecimal():
            raise UsageError(f"--option {name}={value}: give minutes, as in {name}={OWN[name]:g}")
        else:
            minutes[name] = float(value)
    return Slurm(night / "slurm", jobs, passed_on, minutes["patience"], minutes["absence"])
