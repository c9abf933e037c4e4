"""The watchdog: a thread that acts when a case does not end. Kernel calls hold no GIL, so it gets its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """``bark`` is called, in the watchdog's thread, with what was being watched for more than ``seconds``."""

    def __init__(self, seconds: float, bark: Callable[[str], None]) -> None:
        self.seconds = seconds
        self._bark = bark
        self._watched: tuple[str, float] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, name: str) -> Iterator[None]:
        """Waking the thread costs more than a small case: it looks at the clock by itself, and is started once."""
        self._watched = (name, time.monotonic() + self.seconds)
        if self._thread is None:
            self._thread = threading.Thread(target=self._guard, name="bitgate-watchdog", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._watched = None

    def _guard(self) -> None:
        pause = min(1.0, self.seconds / 4)
        while True:
            time.sleep(pause)
            watched = self._watched
            if watched and time.monotonic() > watched[1]:
                self._bark(watched[0])
                return
