"""The variables of the environment that bitgate reads, and what each may hold.

An empty one counts as not set: CI systems hand on variables that nobody has filled in. All are looked at when a command
or a test run starts, so that nonsense is told whatever the command needs of it; files and folders that a variable names
are asked for where they are used. ``kernels/platforms/host/runtime/environment.cpp`` says the same of those that the
host runtime reads, for programs that start without bitgate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from bitgate.core import paths
from bitgate.core.errors import UsageError

May: TypeAlias = "Callable[[str], str]"
"""What to do about a value, in words; empty if it may stand."""

MOST_SECONDS = 1_000_000
MOST_ATTEMPTS = 999_999_999
LONGEST_TEXT = 200
LONGEST_PATH = 4095
LONGEST_NAME = 255
"""Of the parts of a path, in bytes."""


def check(environment: Mapping[str, str] = os.environ) -> None:
    """UsageError names the first variable that holds what it may not, with the value and what to do."""
    for name, may in VARIABLES.items():
        value = environment.get(name, "")
        if value and (advice := _of_one_line(value) or may(value)):
            raise UsageError(f"{name}={shown(value)}: {advice}")


def shown(value: str) -> str:
    """A value in a message: its beginning, on one line."""
    return re.sub(r"[^ -~]", "?", value[:40])


def _of_one_line(value: str) -> str:
    return "take out its control characters" if re.search(r"[\x00-\x1f\x7f]", value) else ""


def _count(most: int) -> May:
    def may(value: str) -> str:
        digits = re.fullmatch(r"[0-9]+", value) is not None and len(value) <= 9
        return "" if digits and 1 <= int(value) <= most else f"give a number from 1 to {most}"

    return may


def _seconds(value: str) -> str:
    try:
        seconds = float(value) if re.fullmatch(r"[0-9][0-9.eE+-]*", value) else 0
    except ValueError:
        seconds = 0
    return "" if 0 < seconds <= MOST_SECONDS else f"give seconds, more than 0 and at most {MOST_SECONDS}"


def _flag(value: str) -> str:
    return "" if value == "1" else "give 1, or unset it"


def _text(value: str) -> str:
    return "" if len(value) <= LONGEST_TEXT else f"give at most {LONGEST_TEXT} characters, not {len(value)}"


def _path(value: str) -> str:
    data = os.fsencode(value)
    fits = len(data) <= LONGEST_PATH and all(len(part) <= LONGEST_NAME for part in data.split(b"/"))
    return "" if fits else f"no path is that long ({len(data)} bytes): shorten it"


def _path_or_url(value: str) -> str:
    """A URL may hold a token, which is longer than a name."""
    return ("" if len(value) <= LONGEST_PATH else _path(value)) if "://" in value else _path(value)


def _paths(value: str) -> str:
    return next(filter(None, map(_path, value.split(os.pathsep))), "")


def _place(value: str) -> str:
    """A folder, which need not be there yet."""
    is_taken = os.path.exists(value) and not os.path.isdir(value)
    return _path(value) or ("it is a file: set it to a folder that can be written" if is_taken else "")


def _folder(value: str) -> str:
    return _path(value) or ("" if os.path.isdir(value) else "no such folder; unset it, or name one")


def _one_of(*words: str) -> May:
    return lambda value: "" if value in words else f"give {' or '.join(words)}, or unset it"


VARIABLES: dict[str, May] = {
    "BITGATE_ARTEFACTS": _path_or_url,
    "BITGATE_CACHE": _place,
    "BITGATE_DATA_ROOT": _folder,
    "BITGATE_DIAGNOSIS_SECONDS": _seconds,
    "BITGATE_FETCH_ONLY": _flag,
    "BITGATE_HISTORY": _path_or_url,
    "BITGATE_HOST_PRETEND_CPU": _one_of("x86-64-v2"),
    "BITGATE_LOAD": _paths,
    "BITGATE_OUT": _place,
    "BITGATE_OVERLAY": _folder,
    "BITGATE_OVERLAY_ROOT": _folder,
    "BITGATE_QUICK_BUILD": _flag,
    "BITGATE_ROOMS": _folder,
    "BITGATE_RUN_ATTEMPT": _count(MOST_ATTEMPTS),
    "BITGATE_RUN_ID": _text,
    "BITGATE_SPIN_SECONDS": _seconds,
    "BITGATE_SYSTEM_ROOT": _folder,
    "BITGATE_THREADS": _count(paths.MOST_THREADS),
}

OWN = ("BITGATE_BISECT", "BITGATE_CHILD", "BITGATE_EXEC", "BITGATE_FIRST_CONTACT", "BITGATE_STAMP", "BITGATE_TASK")
"""From a process of bitgate to those that it starts: each sets its own, whatever it found."""
