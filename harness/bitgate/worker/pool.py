"""Several workers at once: a queue of jobs, those of one key for one worker, served by one thread."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Literal, Protocol, TypeVar

from bitgate.worker.endable import Endable
from bitgate.worker.worker import LOOK_SECONDS


class JobState(Enum):
    """The state of a job that has no result yet: ``AGAIN``, it has given its worker something more to do."""

    AGAIN = "again"


AGAIN: Literal[JobState.AGAIN] = JobState.AGAIN


class PoolMember(Protocol):
    """A worker of a pool: a Worker, or what is built on one."""

    @property
    def bell(self) -> int: ...

    def end(self) -> None: ...


Member = TypeVar("Member", bound=PoolMember)
MemberIn = TypeVar("MemberIn", contravariant=True)


class PoolJob(Protocol[MemberIn]):
    """A job: how it is given to a worker, and its result."""

    def give(self, member: MemberIn) -> bool:
        """Let the worker begin; once more if it ``is_lost``. False if nothing needs a worker: the job is done."""

    def is_lost(self, member: MemberIn) -> bool:
        """Return whether the process that was given the job has been replaced."""

    def hears(self, member: MemberIn, silent: bool) -> bool:
        """Return whether ``take`` would return at once; ``silent``: nothing was heard of any worker for a while."""

    def take(self, member: MemberIn) -> Any:
        """Return the result, or AGAIN. The job was the first in line: a death of the process is put down to it."""


Job = TypeVar("Job", bound=PoolJob[Any])


@dataclass(eq=False)
class Slot(Generic[Member, Job]):
    """A worker, the jobs that it was given, and those of its key that come next."""

    member: Member
    given: deque[Job] = field(default_factory=deque)
    coming: deque[Job] = field(default_factory=deque)


class WorkerPool(Endable, Generic[Member, Job]):
    """Workers that take jobs from one queue. Jobs of one key go to one worker, one after the other.

    A worker is given jobs ahead until ``is_full``; without that it has one at a time. A worker whose process was
    replaced is given again what was lost with it, but for the job that it was at. ``moved`` is called when other jobs
    are under way. One thread serves all workers, so that Ctrl-C leaves nothing half done.
    """

    def __init__(
        self,
        members: Sequence[Member],
        *,
        is_full: Callable[[Sequence[Job]], bool] = bool,
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        self._slots = [Slot[Member, Job](member) for member in members]
        self._is_full, self._moved = is_full, moved
        self._groups: dict[object, deque[Job]] = {}
        self._without_worker: deque[tuple[Job, Member]] = deque()

    @property
    def under_way(self) -> list[Job]:
        """The first job of each worker."""
        return [slot.given[0] for slot in self._slots if slot.given]

    @property
    def has_room(self) -> bool:
        """Would a worker begin at once with another job?"""
        return len(self._groups) < sum(not slot.given and not slot.coming for slot in self._slots)

    @property
    def idlest(self) -> Member:
        """The worker with the fewest jobs."""
        return min(self._slots, key=lambda slot: len(slot.given)).member

    def submit(self, job: Job, key: object = None) -> None:
        """Add a job to the queue, after those of its key; without a key it is for any worker."""
        self._groups.setdefault(job if key is None else key, deque()).append(job)

    def next(self, seconds: float | None = None) -> tuple[Job, Any] | None:
        """Return a job that is done, with its result; None once nothing is left, or if none is done in time. What
        ``take`` raises is raised here."""
        while True:
            self.fill()
            if self._without_worker:
                job, member = self._without_worker.popleft()
                return job, job.take(member)
            slot = self._first_ready([slot for slot in self._slots if slot.given], seconds)
            if slot is None:
                return None
            job = slot.given[0]
            result = job.take(slot.member)
            if result is not AGAIN:
                slot.given.popleft()
                self._moved()
                return job, result

    def fill(self) -> None:
        """Give each worker what it is to do next."""
        for slot in self._slots:
            if slot.given and slot.given[0].is_lost(slot.member):
                for job in slot.given:
                    job.give(slot.member)
            while not self._is_full(slot.given) and (coming := self._coming(slot)) is not None:
                if not coming.give(slot.member):
                    self._without_worker.append((coming, slot.member))
                    continue
                slot.given.append(coming)
                if len(slot.given) == 1:
                    self._moved()

    def end(self) -> None:
        for slot in self._slots:
            slot.member.end()

    def _coming(self, slot: Slot[Member, Job]) -> Job | None:
        if not slot.coming and self._groups:
            slot.coming = self._groups.pop(next(iter(self._groups)))
        return slot.coming.popleft() if slot.coming else None

    def _first_ready(self, busy: Sequence[Slot[Member, Job]], seconds: float | None) -> Slot[Member, Job] | None:
        """Return the worker whose first job is done, or will not be by itself. Of several it is the one with the fewest
        jobs: it is the first to run dry."""
        silent, left = False, seconds
        while busy:
            ready = [slot for slot in busy if slot.given[0].hears(slot.member, silent)]
            if ready:
                return min(ready, key=lambda slot: len(slot.given))
            if left is not None and left <= 0:
                return None
            wait = LOOK_SECONDS if left is None else min(left, LOOK_SECONDS)
            left = None if left is None else left - wait
            bells = select.poll()  # descriptors of many processes are beyond what select() takes
            for slot in busy:
                bells.register(slot.member.bell, select.POLLIN)
            silent = not bells.poll(1000 * wait)
        return None
