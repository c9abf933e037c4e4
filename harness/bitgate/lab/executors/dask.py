"""Dask as an engine, for fleets without Slurm: a scheduler, and on each machine a worker that announces its target.

    dask scheduler --port 8786
    dask worker tcp://lab:8786 --nthreads 1 --name mi300x-1 --resources "gfx942=1"
    bitgate submit --executor dask --option scheduler=tcp://lab:8786 --out /shared/night

Dask was preferred to Ray. It has 2.5 MB of wheels, 44 MB with all dependencies, imported in 0.4 s. Ray's wheel alone is
79 MB, 202 MB unpacked, and brings an object store and a head node that are not needed here.

A task is started once. Dask is set not to retry, and a worker that gets a task which another one had begun reports that
its worker was lost. How a task ended is in its folder, which controller and workers share. A published future keeps a
task alive when its controller dies, and lets another one ask for it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError, near
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors import dask_worker
from bitgate.lab.executors.executor import Executor, Task, TaskState, TaskStatus

INSTALL = "pip install 'bitgate[dask]'"
OPTIONS = {"scheduler": "", "absence": "600"}
"""Options. ``absence``: seconds without a worker of a target, or without the scheduler, after which they count as
gone."""

ONLY = "only.txt"
"""File in a task's folder with the workers that it was meant for, an address a line; empty: any."""

CONNECT_SECONDS = 20.0
RECONNECT_SECONDS = 5.0
SCHEDULER = "scheduler"
"""What is missed while no scheduler answers."""
ARRIVAL_SECONDS = 30.0
"""Seconds for a file of another machine to become visible: NFS caches that it did not exist."""
CANCEL_SECONDS = tasks.GRACE_SECONDS + 10
POLL_SECONDS = 0.3


class Dask:
    """The Dask executor. Handles are the folders of the tasks; ``absence`` is in seconds."""

    name = "dask"

    def __init__(self, connect: Callable[[float], Any], absence: float) -> None:
        """Connect by ``connect``, which returns a client of the scheduler within a time in seconds."""
        self._connect = connect
        self._client = connect(CONNECT_SECONDS)
        self._absence = absence
        self._futures: dict[str, Any] = {}
        self._constraints: dict[str, str] = {}
        self._since: dict[str, float] = {}
        """Times at which something was first missed."""

    def submit(self, new: Sequence[Task]) -> Sequence[str]:
        """Submit all tasks, as soon as the scheduler answers. UsageError if it does not for ``absence`` seconds."""
        for task in new:
            tasks.store(task)
            while not self._is_started(task):
                time.sleep(POLL_SECONDS)
        return [str(task.folder) for task in new]

    def _is_started(self, task: Task) -> bool:
        """Start a task. False if the scheduler does not answer."""
        try:
            self._reach()
            self._start(task, self._others(task))
        except Exception as error:
            self._check_absence(error)
        else:
            self._since.pop(SCHEDULER, None)
            return True
        if self._is_away():
            raise UsageError(
                f"the Dask scheduler has not answered for {self._absence:g} s: what runs goes on;"
                " once there is a scheduler, go on with --resume"
            )
        return False

    def _check_absence(self, error: Exception) -> None:
        """Raise an error again unless it means that the scheduler is away, for which a client has many."""
        is_of_file = isinstance(error, OSError) and error.filename
        away = (OSError, TimeoutError, UsageError)
        if is_of_file or (self._client.status == "running" and not isinstance(error, away)):
            raise error

    def _reach(self) -> None:
        """Connect anew if the client has given up. UsageError if no scheduler answers."""
        if self._client.status in ("closed", "closing"):
            self._client = self._connect(RECONNECT_SECONDS)
            self._futures.clear()

    def _is_away(self) -> bool:
        """Say whether the scheduler has been away for too long, from the first time that it was missed."""
        since = self._since.setdefault(SCHEDULER, time.monotonic())
        return time.monotonic() - since >= self._absence

    def _start(self, task: Task, only: Sequence[str]) -> None:
        """Start a task on one of these workers, or on any if none are named.

        ``allow_other_workers`` is never used: Dask then gives a task to workers without its resources, which die of it.
        """
        handle = str(task.folder)
        (task.folder / ONLY).write_text("".join(f"{address}\n" for address in only))
        self._constraints[handle] = task.constraint
        future = self._client.submit(
            dask_worker.run,
            handle,
            key=f"{_key(handle)}-{'some' if only else 'any'}",
            pure=False,
            retries=0,
            resources={task.constraint: 1} if task.constraint else None,
            workers=list(only) or None,
        )
        self._futures[handle] = future
        self._client.publish_dataset(future, name=_key(handle), override=True)

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        found = {handle: over for handle in handles if (over := self._final_status(Path(handle)))}
        rest = [handle for handle in handles if handle not in found]
        try:
            if rest:
                self._reach()
                workers = self._workers()
                known = set(self._client.list_datasets())
                found |= {handle: self._status(handle, workers, known) for handle in rest}
            self._since.pop(SCHEDULER, None)
        except Exception as error:
            self._check_absence(error)
            return found | {handle: self._without_scheduler(handle, error) for handle in rest}
        for handle in handles:
            if found[handle].state.over:
                self._forget(handle)
        return found

    def cancel(self, handles: Sequence[str]) -> None:
        folders = [Path(handle) for handle in handles if not tasks.ended(Path(handle))]
        for folder in folders:
            (folder / dask_worker.CANCEL).touch()
        until = time.monotonic() + CANCEL_SECONDS
        while (left := [f for f in folders if not tasks.ended(f)]) and time.monotonic() < until:
            for folder in left:
                if dask_worker.begun(folder) is None:
                    tasks.leave(folder, TaskStatus(TaskState.CANCELLED, reason="before it began"))
            time.sleep(POLL_SECONDS)
        for folder in folders:
            self._forget(str(folder))

    def _final_status(self, folder: Path) -> TaskStatus | None:
        """Return how the task ended, from its folder.

        A worker that dies takes the task along, by a signal that bitgate did not send.
        """
        over = tasks.ended(folder)
        worker = dask_worker.begun(folder)
        if over is None or worker is None:
            return over
        if over.state is TaskState.CANCELLED and not (folder / dask_worker.CANCEL).exists():
            return TaskStatus(TaskState.NODE_FAILED, over.exit_code, worker.name, "its Dask worker died")
        return TaskStatus(over.state, over.exit_code, worker.name, over.reason)

    def _status(self, handle: str, workers: Mapping[str, Mapping[str, Any]], known: Collection[str]) -> TaskStatus:
        folder, key = Path(handle), _key(handle)
        worker = dask_worker.begun(folder)
        node = worker.name if worker else ""
        if worker and worker.address not in workers:
            return self._missed(f"worker of {handle}", 2.0, TaskStatus(TaskState.RUNNING, node=node), _lost(node))
        self._since.pop(f"worker of {handle}", None)
        if key not in known and handle not in self._futures:
            waits = TaskStatus(TaskState.RUNNING, node=node)
            return self._missed(
                handle, POLL_SECONDS, waits, TaskStatus(TaskState.LOST, reason="the scheduler forgot it")
            )
        future = self._future(handle)
        if future.status == "error":
            error = future.exception()
            message = " ".join(str(error).split())[:300]
            died = type(error).__name__ == "KilledWorker"
            return _lost(node) if died else TaskStatus(TaskState.LOST, reason=message or type(error).__name__)
        if future.status in ("cancelled", "lost"):
            return TaskStatus(TaskState.LOST, node=node, reason="the scheduler forgot it")
        if future.status == "finished":
            why = f"it ended, and left nothing in {folder}: a night's folder must be one that all workers share"
            return self._missed(
                handle, ARRIVAL_SECONDS, TaskStatus(TaskState.RUNNING), TaskStatus(TaskState.LOST, reason=why)
            )
        if worker:
            return TaskStatus(TaskState.RUNNING, node=node)
        return self._waiting(handle, workers)

    def _waiting(self, handle: str, workers: Mapping[str, Mapping[str, Any]]) -> TaskStatus:
        if handle not in self._constraints:  # submitted by another controller
            self._constraints[handle] = tasks.read(Path(handle) / tasks.TASK).constraint
        wanted = self._constraints[handle]
        only = (Path(handle) / ONLY).read_text().split()
        if only and not any(address in workers for address in only):  # all its workers have gone
            self._start(tasks.read(Path(handle) / tasks.TASK), ())
        if any(not wanted or wanted in worker.get("resources", {}) for worker in workers.values()):
            self._since.pop(f"for {wanted}", None)
            return TaskStatus(TaskState.WAITING)
        there = ", ".join(sorted({name for worker in workers.values() for name in worker.get("resources", {})}))
        none = f"no worker with --resources {wanted}=1 (workers have {there or 'none'})"
        waits = TaskStatus(TaskState.WAITING, reason=none)
        return self._missed(f"for {wanted}", self._absence, waits, TaskStatus(TaskState.NO_CAPACITY, reason=none))

    def _without_scheduler(self, handle: str, error: Exception) -> TaskStatus:
        worker = dask_worker.begun(Path(handle))
        reason = f"the Dask scheduler does not answer: {' '.join(str(error).split()):.300}"
        waits = TaskStatus(
            TaskState.RUNNING if worker else TaskState.WAITING, None, worker.name if worker else "", reason
        )
        gone = TaskStatus(TaskState.LOST, None, waits.node, reason)
        return gone if self._is_away() else waits

    def _missed(self, what: str, patience: float, so_far: TaskStatus, then: TaskStatus) -> TaskStatus:
        """Return ``so_far`` until something has been missing for ``patience`` seconds, then ``then``."""
        since = self._since.setdefault(what, time.monotonic())
        return then if time.monotonic() - since >= patience else so_far

    def _future(self, handle: str) -> Any:
        if handle not in self._futures:
            self._futures[handle] = self._client.get_dataset(_key(handle))
        return self._futures[handle]

    def _forget(self, handle: str) -> None:
        """Drop a handle that is not needed any more: another attempt has another folder."""
        future = self._futures.pop(handle, None)
        with suppress(Exception):  # a scheduler that cannot be reached has dropped it too
            self._client.unpublish_dataset(_key(handle))
            if future is not None:
                future.cancel()

    def _workers(self) -> Mapping[str, Mapping[str, Any]]:
        # Query the scheduler: the client's copy may lack workers. Some versions list five unless given a number.
        names_few = "n_workers" in signature(type(self._client).scheduler_info).parameters
        known = self._client.sync(self._client.scheduler.identity, **({"n_workers": -1} if names_few else {}))
        found: Mapping[str, Mapping[str, Any]] = known["workers"]
        return found

    def _others(self, task: Task) -> list[str]:
        """Return the workers on which no earlier attempt failed; an empty list if none has failed."""
        if not task.avoid:
            return []
        fits = _of(task.constraint)
        workers = self._workers().items()
        return [address for address, worker in workers if fits(worker) and str(worker["name"]) not in task.avoid]


def _of(constraint: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda worker: not constraint or constraint in worker.get("resources", {})


def _lost(node: str) -> TaskStatus:
    return TaskStatus(TaskState.NODE_FAILED, node=node, reason="Dask lost its worker")


def _key(handle: str) -> str:
    return f"bitgate-{hashlib.sha256(handle.encode()).hexdigest()[:32]}"


def make(night: Path, jobs: int, options: Mapping[str, str]) -> Executor:
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise UsageError(f"--executor dask: distributed is not installed: {INSTALL}") from None
    if unknown := next((name for name in options if name not in OPTIONS), None):
        raise UsageError(f"--option {unknown}: dask: {near(unknown, OPTIONS)}")
    if jobs:
        raise UsageError("--jobs: dask runs as many shards at a time as its workers take: leave it out")
    stated = {**OPTIONS, **options}
    if not stated["scheduler"]:
        raise UsageError(
            "--executor dask: name the scheduler: --option scheduler=tcp://HOST:8786 (what `dask scheduler` printed)"
        )
    try:
        absence = float(stated["absence"])
    except ValueError:
        raise UsageError(f"--option absence={stated['absence']}: give seconds") from None

    def connect(seconds: float) -> Any:
        try:
            try:
                return distributed.Client(stated["scheduler"], timeout=seconds, set_as_default=False)
            except AssertionError:  # raised if a busy scheduler sends its greeting with other messages; not twice
                return distributed.Client(stated["scheduler"], timeout=seconds, set_as_default=False)
        except (OSError, ValueError, TypeError, AssertionError) as error:
            why = " ".join(str(error).split())
            raise UsageError(
                f"--option scheduler={stated['scheduler']}: no Dask scheduler answers: {why:.200}"
            ) from None

    return Dask(connect, absence)
