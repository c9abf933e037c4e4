"""Tasks as processes of this machine, a limited number at a time.

They outlive the controller that started them. All state of a task is in its folder, which is its handle: any controller
finds there what is waiting or still running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bitgate.core.errors import UsageError, near
from bitgate.lab.ci import task as tasks
from bitgate.lab.executors.executor import Executor, Task, TaskState, TaskStatus
from bitgate.worker.child import kill_marked

POLL_SECONDS = 0.1


class Local:
    """The local executor: ``jobs`` tasks at a time. Polling starts waiting tasks, in the order of the handles."""

    name = "local"

    def __init__(self, jobs: int = 1) -> None:
        self._jobs = jobs
        self._begun: dict[Path, subprocess.Popen[bytes]] = {}

    def submit(self, new: Sequence[Task]) -> Sequence[str]:
        for task in new:
            tasks.store(task)
        return [str(task.folder) for task in new]

    def poll(self, handles: Sequence[str]) -> Mapping[str, TaskStatus]:
        found = {handle: self._status(Path(handle)) for handle in handles}
        running = [handle for handle, status in found.items() if status.state is TaskState.RUNNING]
        for handle in [handle for handle, status in found.items() if status.state is TaskState.WAITING]:
            if not self._has_room(handle, running):
                break
            self._begin(Path(handle))
            found[handle] = TaskStatus(TaskState.RUNNING, node=tasks.node())
            running.append(handle)
        return found

    def cancel(self, handles: Sequence[str]) -> None:
        folders = [Path(handle) for handle in handles]
        for folder in folders:
            state = self._status(folder).state
            if state is TaskState.WAITING:
                tasks.leave(folder, TaskStatus(TaskState.CANCELLED, reason="before it began"))
            elif state is TaskState.RUNNING:
                self._signal(folder, signal.SIGTERM)
        until = time.monotonic() + tasks.GRACE_SECONDS + 5
        while any(self._status(folder).state is TaskState.RUNNING for folder in folders) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        for folder in folders:
            if self._status(folder).state is TaskState.RUNNING:
                self._signal(folder, signal.SIGKILL)
                kill_marked(tasks.MARK, str(folder))

    def _has_room(self, handle: str, running: Sequence[str]) -> bool:
        """Say whether a task may begin next to these; an exclusive task runs alone."""
        alone = any(tasks.read(Path(one) / tasks.TASK).exclusive for one in (handle, *running))
        return len(running) < (1 if alone else self._jobs)

    def _status(self, folder: Path) -> TaskStatus:
        if over := tasks.ended(folder):
            return over
        process, begun = tasks.process_of(folder), self._begun.get(folder)
        is_mine = begun is not None and begun.poll() is None
        if is_mine or (process and process.is_alive):
            return TaskStatus(TaskState.RUNNING, node=process.node if process else tasks.node())
        # It may have ended between the two checks.
        if over := tasks.ended(folder):
            return over
        if process or begun:
            kill_marked(tasks.MARK, str(folder))
            return TaskStatus(TaskState.LOST, node=tasks.node(), reason="its process died without an exit file")
        if not (folder / tasks.TASK).exists():
            return TaskStatus(TaskState.LOST, reason=f"{folder}: holds no {tasks.TASK}")
        return TaskStatus(TaskState.WAITING)

    def _begin(self, folder: Path) -> None:
        with (folder / tasks.LOG).open("ab") as log:
            self._begun[folder] = subprocess.Popen(
                tasks.wrapper(folder / tasks.TASK),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # protects it from Ctrl-C and the end of a terminal
            )

    def _signal(self, folder: Path, number: signal.Signals) -> None:
        process = tasks.process_of(folder)
        with suppress(ProcessLookupError):
            if process and process.is_alive:
                os.kill(process.pid, number)
            elif mine := self._begun.get(folder):
                mine.send_signal(number)


def make(night: Path, jobs: int, options: Mapping[str, str]) -> Executor:
    if options:
        raise UsageError(f"--option {next(iter(options))}: local: {near(next(iter(options)), ())}")
    return Local(jobs or 1)
