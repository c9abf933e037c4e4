"""One task, on the machine that an engine gives it: ``python -m bitgate.lab.ci.task FOLDER/task.json``.

In the task's folder it leaves ``process.json`` (its process), ``log.txt`` (the output of the run) and, last,
``exit.json`` (its end), each whole or not at all. SIGTERM and Ctrl-C are passed to the run, which then ends in order;
so does the end of the task's time. What has not ended ``GRACE_SECONDS`` later is killed.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from msgspec import Struct

from bitgate.core import memory_group
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole
from bitgate.core.untrusted import Count, InvalidInput, Name, Seconds, Short, Text, parse_json, read_bytes, shaped
from bitgate.lab.executors.executor import Task, TaskState, TaskStatus
from bitgate.results.shard import Shard, ShardText

TASK, PROCESS, LOG, EXIT = "task.json", "process.json", "log.txt", "exit.json"

GRACE_SECONDS = 25.0
"""Seconds for a run to end in order; Slurm gives 30 between its SIGTERM and SIGKILL."""

SIGNAL_SECONDS = 0.3
"""An engine signals the run and its wrapper at the same time: the wrapper may get the signal this long after the run
died."""

MARK = "BITGATE_TASK"
"""Environment variable with the task's folder, which identifies its processes when the wrapper is gone."""

_PLAIN = ("target", "attempt", "minutes", "constraint", "gpus", "exclusive", "all_memory")
"""Fields of a task that its file holds unchanged."""

_ENDERS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_WAKERS = {signal.SIGCHLD, *_ENDERS}
_PR_SET_PDEATHSIG = 1


def store(task: Task) -> Path:
    """Write ``task.json`` into the task's folder, which is created. Raises OSError where that cannot be written."""
    fields = {name: getattr(task, name) for name in _PLAIN}
    paths = {"root": str(task.root), "folder": str(task.folder), "shard": str(task.shard)}
    lists = {"command": list(task.command), "avoid": list(task.avoid), "environment": dict(task.environment)}
    task.folder.mkdir(parents=True, exist_ok=True)
    path = task.folder / TASK
    _write(path, {**fields, **paths, **lists})
    return path


def read(path: Path) -> Task:
    """Read a task. Raises UsageError with the file and what is wrong in it."""
    try:
        shape = shaped(_TaskShape, parse_json(read_bytes(path)))
    except InvalidInput as error:
        raise UsageError(f"{path}: not a task: {error}") from None
    return Task(
        **{name: getattr(shape, name) for name in _PLAIN},
        shard=Shard.parse(shape.shard),
        command=tuple(shape.command),
        environment=shape.environment,
        root=Path(shape.root),
        folder=Path(shape.folder),
        avoid=tuple(shape.avoid),
    )


def wrapper(path: Path) -> tuple[str, ...]:
    """Return the command that runs the task of this file, with the Python of this process."""
    return (sys.executable, "-m", "bitgate.lab.ci.task", str(path))


def ended(folder: Path) -> TaskStatus | None:
    """Return how the task of this folder ended, as its wrapper saw it; None while it is running.

    ``CANCELLED`` means that a signal ended it; an engine may know the reason (preempted, out of time).
    """
    path = folder / EXIT
    if not path.exists():
        return None
    try:
        shape = shaped(_ExitShape, parse_json(read_bytes(path)))
    except InvalidInput as error:
        return TaskStatus(TaskState.LOST, reason=f"{path}: {error}")
    return TaskStatus(shape.state, shape.exit_code, shape.node, shape.reason)


@dataclass(frozen=True)
class Process:
    """The process that runs, or ran, a task. ``started``, in seconds, distinguishes it from a later one of the same
    number."""

    pid: int
    started: float
    node: str

    @property
    def is_alive(self) -> bool:
        """True if it runs on this machine. A zombie is dead: its files do not change any more."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            is_same = abs(process.create_time() - self.started) < 2
            return bool(is_same and process.status() != psutil.STATUS_ZOMBIE)
        return False


def process_of(folder: Path) -> Process | None:
    """Return the process of a task; None if no wrapper has begun in this folder, or its file is damaged."""
    try:
        shape = shaped(_ProcessShape, parse_json(read_bytes(folder / PROCESS)))
    except InvalidInput:
        return None
    return Process(shape.pid, shape.started, shape.node)


def node() -> str:
    """Return this machine's name in its engine: several nodes of a Slurm may share a host."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def leave(folder: Path, status: TaskStatus, seconds: float = 0.0) -> None:
    """Write how the task ended. Raises OSError where that cannot be written."""
    _write(
        folder / EXIT,
        {
            "state": status.state.value,
            "exit_code": status.exit_code,
            "node": status.node,
            "seconds": round(seconds, 3),
            "reason": status.reason,
        },
    )


def run(task: Task) -> int:
    """Run the task to its end and leave ``exit.json``; return the run's exit code, or 128 plus the signal it died of.

    Raises UsageError if another process runs it, or has run it.
    """
    _claim(task.folder)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKERS)  # before the run starts: none may be lost
    begun, kills = time.monotonic(), memory_group.kills() or 0
    with (task.folder / LOG).open("ab") as log:
        try:
            process = subprocess.Popen(
                task.command,
                cwd=task.root,
                env={**os.environ, **task.environment, MARK: str(task.folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_prepare_child,
            )
        except OSError as error:
            leave(task.folder, TaskStatus(TaskState.ENDED, 127, node(), f"cannot be started: {error}"))
            return 127
    state = _watch(process, begun + 60 * task.minutes)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    reason = f"its process died of {signal.Signals(code - 128).name}" if process.returncode < 0 else ""
    if state is TaskState.TIMED_OUT:
        reason = f"it had not ended after {task.minutes:g} minutes"
    elif process.returncode == -signal.SIGKILL and (memory_group.kills() or 0) > kills:
        state, reason = TaskState.OUT_OF_MEMORY, "the kernel killed it for lack of memory"
    leave(task.folder, TaskStatus(state, code, node(), reason), time.monotonic() - begun)
    return code


def _watch(process: subprocess.Popen[bytes], deadline: float) -> TaskState:
    """Wait until the run and all of its group are gone. Return ENDED, or why it was ended."""
    state = TaskState.ENDED
    while process.poll() is None:
        left = deadline - time.monotonic()
        caught = signal.sigtimedwait(_WAKERS, left) if left > 0 else None
        if caught and caught.si_signo == signal.SIGCHLD:
            continue
        if state is TaskState.ENDED:
            state = TaskState.CANCELLED if caught else TaskState.TIMED_OUT
            deadline = time.monotonic() + GRACE_SECONDS
            process.terminate()
        elif not caught:
            break
    in_order = 0 <= (process.returncode or 0) <= 128
    if state is TaskState.ENDED and not in_order and signal.sigtimedwait(_ENDERS, SIGNAL_SECONDS):
        state = TaskState.CANCELLED
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return state


def _prepare_child() -> None:
    """Prepare the child between fork and exec: a separate group, default signals, and an end with the wrapper."""
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAKERS)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _claim(folder: Path) -> None:
    """Claim the task: of two processes that were started for it, the first runs it."""
    mine = {"pid": os.getpid(), "started": psutil.Process().create_time(), "node": node()}
    draft = folder / f".{PROCESS}.{os.getpid()}.{socket.gethostname()}"
    draft.write_text(json.dumps(mine) + "\n")
    try:
        os.link(draft, folder / PROCESS)
    except FileExistsError:
        raise UsageError(f"{folder}: was started before ({PROCESS}): submit another attempt") from None
    finally:
        draft.unlink()


def _write(path: Path, document: Any) -> None:
    write_whole(path, json.dumps(document) + "\n")


class _TaskShape(Struct):
    target: Name
    shard: ShardText
    attempt: Count
    command: list[Text]
    environment: dict[Short, Text]
    root: Text
    folder: Text
    minutes: Seconds
    constraint: Short = ""
    gpus: Count = 0
    exclusive: bool = False
    all_memory: bool = False
    avoid: list[Short] = []


class _ProcessShape(Struct):
    pid: Count
    started: float
    node: Short


class _ExitShape(Struct):
    state: TaskState
    exit_code: int | None
    node: Short
    seconds: Seconds
    reason: Text


def main(arguments: list[str]) -> int:
    try:
        if len(arguments) != 1:
            raise UsageError("python -m bitgate.lab.ci.task FOLDER/task.json")
        return run(read(Path(arguments[0])))
    except (UsageError, OSError) as error:
        print(f"bitgate: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
