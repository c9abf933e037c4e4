"""The watchdog: a thread that acts when a case does not end. Kernel calls hold no GIL, so it gets its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 0.25
"""Seconds between looks at the clock."""


class Watchdog:
    """``bark`` is called, in the watchdog's thread, with the name of what was watched for longer than its seconds."""

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

    def _guard(self) -> None:
        while True:
            time.sleep(PAUSE)
            watched = self._watched
            if watched and time.monotonic() > watched[1]:
                self._bark(watched[0])
                return
