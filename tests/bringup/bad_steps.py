"""Steps that come to an end of their own kind; a child imports them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.lab.bringup.server import Answer

Tell = Callable[[str], None]


def dies(tell: Tell, **_: Any) -> Answer:
    os.kill(os.getpid(), signal.SIGSEGV)
    return Answer("")


def leaves(tell: Tell, **_: Any) -> Answer:
    print("last words", flush=True)
    os._exit(3)


def hangs(tell: Tell, **_: Any) -> Answer:
    time.sleep(600)
    return Answer("")


def raises(tell: Tell, **_: Any) -> Answer:
    raise KeyError("hipFoo")


def refuses(tell: Tell, **_: Any) -> Answer:
    raise UsageError("no compiler: install one")


def works(tell: Tell, **_: Any) -> Answer:
    tell("half way")
    return Answer("fine", detail={"figure": 3}, files={"note.txt": "a note"})
