"""What tox.ini cannot say: a run that Ctrl-C ended makes tox end with 130, as pytest and bitgate do.

tox forgets the exit code of an environment that it was interrupted in, and ends with 1, "a defect was found".
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from tox.plugin import impl

INTERRUPTED = 130


@impl
def tox_after_run_commands(tox_env: Any, exit_code: int, outcomes: list[Any]) -> None:
    if any(outcome.exit_code == INTERRUPTED for outcome in outcomes):
        atexit.register(_leave)


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)  # atexit cannot change the exit code in any other way
