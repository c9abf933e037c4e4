"""The variables of the environment that bitgate reads, and what each may hold.

An empty one counts as not set: CI systems hand on variables that were never filled in. All are checked when a command
or a test run starts, so that nonsense is reported whatever the command needs of it. Files and folders that a variable
names are looked for where they are used. ``kernels/platforms/host/runtime/environment.cpp`` says the same of those that
the host runtime reads, for programs that start without bitgate.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bitgate.core import compute_sanitizer, paths
from bitgate.core.errors import UsageError

if TYPE_CHECKING:
    from bitgate.core.table_fields import Check

MOST_SECONDS = 1_000_000
MOST_ATTEMPTS = 999_999_999
LONGEST_TEXT = 200
LONGEST_PATH = 4095
HOST_SANITIZERS = ("address", "undefined")
LONGEST_NAME = 255
"""Bytes of a part of a path."""


def check(environment: Mapping[str, str] = os.environ) -> None:
    """Raise UsageError for the first variable with a wrong value: the value, and what to do."""
    for name, may_hold in VARIABLES.items():
        if value := environment.get(name, ""):
            try:
                if re.search(r"[\x00-\x1f\x7f]", value):
                    raise ValueError("take out its control characters")
                may_hold(value)
            except ValueError as error:
                raise UsageError(f"{name}={shown(value)}: {error}") from None
    if environment.get("BITGATE_SANITIZE") == "address" and "asan" not in environment.get("LD_PRELOAD", ""):
        raise UsageError("BITGATE_SANITIZE=address: Python needs its library first: set LD_PRELOAD to g++'s libasan.so")


def restart_without_prompt() -> None:
    """Start this program anew without PYTHONINSPECT, with which Python traces its end, and asks on."""
    if os.environ.pop("PYTHONINSPECT", ""):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def shown(value: str) -> str:
    """Return the beginning of a value on one line, for a message."""
    return re.sub(r"[^ -~]", "?", value[:40])


def bytes_of(text: str) -> int:
    """Return the bytes of a size: digits, with K, M or G for powers of 1024. Raises ValueError for other text."""
    found = re.fullmatch(r"(\d{1,12})([KMG]?)(i?B)?", text, re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise ValueError("give bytes, more than 0, such as 500000, 64M or 2G")
    return int(found[1]) << 10 * " KMG".index(found[2].upper() or " ")


def _count(most: int) -> Check:
    def check(value: str) -> int:
        from bitgate.core.table_fields import number  # most commands need it for nothing else

        count: int = number(1, most)(int(value) if re.fullmatch(r"[0-9]{1,9}", value) else value)
        return count

    return check


def _seconds(value: str) -> None:
    seconds = float(value) if re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", value) else 0
    if not 0 < seconds <= MOST_SECONDS:
        raise ValueError(f"give seconds, more than 0 and at most {MOST_SECONDS}")


def _text(value: str) -> None:
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"give at most {LONGEST_TEXT} characters, not {len(value)}")


def _path(value: str) -> None:
    data = os.fsencode(value)
    if len(data) > LONGEST_PATH or any(len(part) > LONGEST_NAME for part in data.split(b"/")):
        raise ValueError(f"no path is that long ({len(data)} bytes): shorten it")


def _path_or_url(value: str) -> None:
    if "://" not in value or len(value) > LONGEST_PATH:  # a URL may hold a token, which is longer than a name
        _path(value)


def _paths(value: str) -> None:
    """Check paths of declarations, which go to other processes and into records as text."""
    if re.search(r"[\ud800-\udfff]", value):
        raise ValueError("it is not UTF-8")
    for part in value.split(os.pathsep):
        _path(part)


def _command(value: str) -> None:
    if len(value) > LONGEST_PATH:
        raise ValueError(f"no command is that long ({len(value)} characters): shorten it")
    try:
        shlex.split(value)
    except ValueError as error:
        raise ValueError(f"{error}: write a command as a shell takes it") from None


def _place(value: str) -> None:
    """Check a folder, which need not exist yet."""
    _path(value)
    if os.path.exists(value) and not os.path.isdir(value):
        raise ValueError("it is a file: set it to a folder that can be written")


def _folder(value: str) -> None:
    _path(value)
    if not os.path.isdir(value):
        raise ValueError("no such folder; unset it, or name one")


def _gfx(value: str) -> None:
    if not re.fullmatch(r"gfx[0-9a-f]{3,5}(:[a-z]+[+-])*", value):
        raise ValueError("give a gfx target as HIP spells it, such as gfx942")


def _sanitizer(value: str) -> None:
    if value not in compute_sanitizer.TOOLS:
        raise ValueError(f"give one of {', '.join(compute_sanitizer.TOOLS)}")


def _host_sanitizer(value: str) -> None:
    if value not in HOST_SANITIZERS:
        raise ValueError(f"give one of {', '.join(HOST_SANITIZERS)}, or unset it")


def _only(word: str) -> Check:
    def check(value: str) -> None:
        if value != word:
            raise ValueError(f"give {word}, or unset it")

    return check


VARIABLES: dict[str, Check] = {
    "BITGATE_ARTEFACTS": _path_or_url,
    "BITGATE_CACHE": _place,
    "BITGATE_COMPUTE_SANITIZER": _sanitizer,
    "BITGATE_DATA_ROOT": _folder,
    "BITGATE_DEVICE_MEMORY": bytes_of,
    "BITGATE_DIAGNOSIS_SECONDS": _seconds,
    "BITGATE_FETCH_ONLY": _only("1"),
    "BITGATE_HISTORY": _path_or_url,
    "BITGATE_HOST_PRETEND_CPU": _only("x86-64-v2"),
    "BITGATE_HOST_PRETEND_GPU": _gfx,
    "BITGATE_LAUNCHER": _command,
    "BITGATE_LAUNCHER_DAEMON": _command,
    "BITGATE_LOAD": _paths,
    "BITGATE_OUT": _place,
    "BITGATE_OVERLAY": _folder,
    "BITGATE_MEMORY_SECONDS": _seconds,
    "BITGATE_OVERLAY_ROOT": _folder,
    "BITGATE_QUICK_BUILD": _only("1"),
    "BITGATE_ROOMS": _folder,
    "BITGATE_LOG": _text,
    "BITGATE_RUN_ATTEMPT": _count(MOST_ATTEMPTS),
    "BITGATE_RUN_ID": _text,
    "BITGATE_SANITIZE": _host_sanitizer,
    "BITGATE_SPIN_SECONDS": _seconds,
    "BITGATE_SYSTEM_ROOT": _folder,
    "BITGATE_THREADS": _count(paths.MOST_THREADS),
}

OWN = (
    "BITGATE_BISECT",
    "BITGATE_CHILD",
    "BITGATE_COMPUTE_SANITIZER_DIR",
    "BITGATE_COMPUTE_SANITIZER_LOG",
    "BITGATE_EMULATOR_DIR",
    "BITGATE_EMULATOR_INSIDE",
    "BITGATE_EMULATOR_PACE",
    "BITGATE_EMULATOR_RACE",
    "BITGATE_EMULATOR_RACE_LOG",
    "BITGATE_EXEC",
    "BITGATE_FIRST_CONTACT",
    "BITGATE_OVERLAY_FAMILY",
    "BITGATE_SANDBOX",
    "BITGATE_STAMP",
    "BITGATE_TASK",
)
"""Variables from a process of bitgate to those that it starts, which overwrite what they find."""
