"""The git checkout that a folder lies in: whose commit it is, and what a file is called there."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

UNKNOWN = "unknown"
STATUS_SECONDS = 20


@lru_cache(maxsize=256)
def commit_of(folder: Path) -> str:
    """The commit that is checked out around ``folder``, with ``-dirty`` behind it if what is tracked was changed or the
    folder holds files that git does not know; ``unknown`` outside of a checkout, or without git."""
    status = _checkout_status(_checkout_root(folder.resolve()))
    match = re.search(r"^# branch\.oid ([0-9a-f]{40,64})$", status, re.MULTILINE)
    if match is None:
        return UNKNOWN
    inside = f"{path_in_checkout(folder.resolve())}/".removeprefix("./")
    entries = status[match.end() :].split("\0")
    changed = any(re.match(r"[12u] ", entry) for entry in entries)
    unknown = [entry[2:] for entry in entries if entry.startswith("? ") and "__pycache__" not in entry]
    mixed = any(path.startswith(inside) or inside.startswith(path) for path in unknown)
    return f"{match[1]}-dirty" if changed or mixed else match[1]


@lru_cache(maxsize=16)
def _checkout_status(root: Path) -> str:
    """Of a whole checkout, whichever of its folders is asked about: the question takes as long as several verdicts."""
    return _output(root, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "-z")


def _checkout_root(folder: Path) -> Path:
    """Where the checkout begins that the folder lies in; the folder itself where there is none to be seen."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


@lru_cache(maxsize=1024)
def path_in_checkout(file: Path) -> str:
    """The file's path in its repository, found without asking git; else from the current folder, if it lies below."""
    for folder in (file, *file.parents):
        if (folder / ".git").exists():
            return file.relative_to(folder).as_posix()
    here = Path.cwd()
    return (file.relative_to(here) if file.is_relative_to(here) else file).as_posix()


def _output(folder: Path, *arguments: str) -> str:
    """Return what git prints about a folder, empty if it fails."""
    try:
        done = ask(folder, *arguments, seconds=STATUS_SECONDS)
    except (OSError, UsageError):
        return ""
    return done.stdout.replace("\0#", "\n#") if done.returncode == 0 else ""
