"""Steps that each end in another way; a child imports them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.lab.bringup.server import StepAnswer

Tell = Callable[[str], None]


def dies(tell: Tell, **_: Any) -> StepAnswer:
    os.kill(os.getpid(), signal.SIGSEGV)
    return StepAnswer("")


def leaves(tell: Tell, **_: Any) -> StepAnswer:
    print("last words", flush=True)
    os._exit(3)


def hangs(tell: Tell, **_: Any) -> StepAnswer:
    time.sleep(600)
    return StepAnswer("")


def raises(tell: Tell, **_: Any) -> StepAnswer:
    raise KeyError("hipFoo")


def refuses(tell: Tell, **_: Any) -> StepAnswer:
    raise UsageError("no compiler: install one")


def works(tell: Tell, **_: Any) -> StepAnswer:
    tell("half way")
    return StepAnswer("fine", detail={"figure": 3}, files={"note.txt": "a note"})
