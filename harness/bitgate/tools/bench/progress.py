"""Who is at work, told while it takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

FIRST_SECONDS = 5.0
"""Until something is said of one that is at work."""
THEN_SECONDS = 30.0


@contextmanager
def at_work(say: Callable[[str], None], words: Callable[[], str]) -> Iterator[None]:
    """While the body takes longer than a few seconds a line says so now and then, from a thread of its own; ``words``
    say who, and at what."""
    begun, ended = monotonic(), threading.Event()

    def tell() -> None:
        pause = FIRST_SECONDS
        while not ended.wait(pause):
            say(f"{words()}, {monotonic() - begun:.0f} s so far")
            pause = THEN_SECONDS

    thread = threading.Thread(target=tell, name="bitgate-at-work", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
