"""A task of a night on a Dask worker, in a separate process, so that a crash or hang does not affect the worker."""

from __future__ import annotations

import ctypes
import json
import signal
import subprocess
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bitgate.core.files import write_whole
from bitgate.core.untrusted import InvalidInput, Short, parse_json, read_bytes, shaped
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import TaskState, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Callable

WORKER, CANCEL = "worker.json", "cancel"
"""Files in a task's folder: the worker that has begun it, and the request to end."""

POLL_SECONDS = 0.5
_PR_SET_PDEATHSIG = 1


class TaskStarted(Struct, frozen=True):
    """The start of a task by the worker of this name, which the scheduler knows by this address."""

    name: Short
    address: Short


def begun(folder: Path) -> TaskStarted | None:
    """Return the start of the task of this folder; None if no worker has begun it, or its file is damaged."""
    try:
        return shaped(TaskStarted, parse_json(read_bytes(folder / WORKER)))
    except InvalidInput:
        return None


def run(folder_name: str) -> None:
    """Run the task of a folder to its end, which is then in ``exit.json``.

    Raises RuntimeError if this machine does not see the folder.
    """
    worker = import_module("distributed").get_worker()
    folder = Path(folder_name)
    if not (folder / tasks.TASK).is_file():
        raise RuntimeError(f"{worker.name} does not see {folder}: a night's folder must be one that all workers share")
    if (folder / CANCEL).exists():
        tasks.leave(folder, TaskStatus(TaskState.CANCELLED, node=str(worker.name), reason="before it began"))
        return
    if first := begun(folder):  # Dask starts a task again after its worker was lost
        tasks.leave(folder, TaskStatus(TaskState.NODE_FAILED, node=first.name, reason="Dask lost its worker"))
        return
    write_whole(folder / WORKER, json.dumps({"name": str(worker.name), "address": worker.address}) + "\n")
    with (folder / tasks.LOG).open("ab") as log:
        process = subprocess.Popen(
            tasks.wrapper(folder / tasks.TASK),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_ends_with(signal.SIGTERM),
        )
    while True:
        try:
            process.wait(POLL_SECONDS)
            return
        except subprocess.TimeoutExpired:
            if (folder / CANCEL).exists():
                process.terminate()


def _ends_with(number: signal.Signals) -> Callable[[], None]:
    """Return a function to call between fork and exec, which ends the child with the worker."""

    def prepare() -> None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)

    return prepare
