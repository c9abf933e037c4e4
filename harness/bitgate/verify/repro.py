"""The shell line that runs a case again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from bitgate.runtime.host import RACE
from bitgate.verify.planned import PlannedCase


def repro_line(planned: PlannedCase, added: Sequence[Path] = ()) -> str:
    """Return ``bitgate verify <case> --kernel ...``, without defaults that are unambiguous.

    Declarations that the project's file names are left out: any checkout of it finds them. ``added`` are those that a
    command named.
    """
    words = ["bitgate", "verify", planned.case, "--kernel", planned.kernel.name]
    for path in added:
        words += ["--load", str(path)]
    words += ["--fill", planned.fill, "--seed", str(planned.seed)]
    for name, value in planned.kernel.options:
        words += ["--option", f"{name}={value}"]
    if planned.schedule == RACE:
        words += ["--race"]
    elif planned.schedule != "forward":
        words += ["--schedule", planned.schedule]
    if planned.reference != "auto":
        words += ["--reference", planned.reference]
    words += ["--target", planned.target]
    return shlex.join(words)
