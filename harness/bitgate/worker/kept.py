"""Workers that wait for further questions, as many as a long-lived process can afford."""

from __future__ import annotations

from collections import OrderedDict

from bitgate.worker.worker import Worker


class KeptWorkers:
    """The ``most`` workers that were asked last. Another one is ended, and would start again for its next question."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._asked: OrderedDict[Worker, None] = OrderedDict()

    def keep(self, worker: Worker) -> None:
        """Keep a worker that is about to be asked, rather than the one that was asked the longest time ago."""
        self._asked[worker] = None
        self._asked.move_to_end(worker)
        while len(self._asked) > self._most:
            self._asked.popitem(last=False)[0].end()


USER_WORKERS = KeptWorkers(64)
"""Those that answer for users' declarations and operations: each is a process, and six descriptors here. Planning asks
all families of a project by turns: were fewer kept, each question would start a process in a large one."""
