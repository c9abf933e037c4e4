"""The watchdog: a thread that acts when a test does not end. Kernels have a separate process and deadline; this is for
what else a test does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 0.25
"""Seconds between looks at the clock."""


class Watchdog:
    """Thread that calls ``bark`` with the name of what was watched for longer than its seconds."""

    def __init__(self, bark: Callable[[str], None]) -> None:
        self._bark = bark
        self._watched: tuple[str, float] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, name: str, seconds: float) -> Iterator[None]:
        """Waking the thread costs more than a small case: it looks at the clock by itself, and is started once."""
        self._watched = (name, time.monotonic() + seconds)
        if self._thread is None:
            self._thread = threading.Thread(target=self._guard, name="bitgate-watchdog", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._watched = None

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Suspend the time that counts; afterwards as much is left as before."""
        watched, self._watched = self._watched, None
        since = time.monotonic()
        try:
            yield
        finally:
            if watched is not None:
                self._watched = watched[0], watched[1] + time.monotonic() - since

    def _guard(self) -> None:
        while True:
            time.sleep(PAUSE)
            watched = self._watched
            if watched and time.monotonic() > watched[1]:
                self._bark(watched[0])
                return
