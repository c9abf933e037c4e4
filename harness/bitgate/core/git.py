"""Git repositories: questions that git answers, and the commit of a folder and the path of a file in a checkout."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from bitgate.core.errors import UsageError

PATIENCE_SECONDS = 60
COMMAND = ("git", "-c", "core.hooksPath=/dev/null")
"""The program without the repository's hooks, which are for people who work in it."""


def environment() -> dict[str, str]:
    """Return this process's environment with git's messages in English, without a hook's GIT_DIR of another place."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


def ask(folder: Path, *arguments: str, seconds: float = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
    """Run git in a folder. UsageError if git is not installed, or does not answer in time."""
    try:
        return subprocess.run(
            [*COMMAND, "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment(),
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed: bisecting drives it") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{folder}: git {arguments[0]} gave no answer within {seconds:g} s") from None


def lines(folder: Path, *arguments: str) -> list[str]:
    """Return the lines that git prints. UsageError with git's message if it fails."""
    done = ask(folder, *arguments)
    if done.returncode:
        raise UsageError(f"{folder}: git {arguments[0]}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    return done.stdout.splitlines()


def bytes_of(folder: Path, seconds: float, *arguments: str) -> bytes:
    """Return the output of a call that may take long. UsageError with git's message if it fails."""
    command = [*COMMAND, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, env=environment(), check=False)
    except FileNotFoundError:
        raise UsageError("git is not installed: other commits come from it") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{folder}: git {arguments[0]} gave no answer within {seconds:g} s") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip() or "failed"
        raise UsageError(f"{folder}: git {arguments[0]}: {words.splitlines()[-1]}")
    return done.stdout


def has(folder: Path, commit: str) -> bool:
    """Return whether the repository has a commit; false if it is no repository, or git is not installed."""
    if not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        return False
    try:
        return ask(folder, "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
    except UsageError:
        return False


def between(folder: Path, good: str, bad: str, most: int = 20) -> tuple[list[str], int] | None:
    """Return the newest ``most`` commits after ``good`` up to ``bad`` as ``<commit> <subject>``, and their number.

    None if the folder is no repository, or does not have both.
    """
    if not good or not bad or not all(has(folder, commit) for commit in (good, bad)):
        return None
    found = lines(folder, "log", "--format=%h %s", f"{good}..{bad}")
    return found[:most], len(found)


UNKNOWN = "unknown"
STATUS_SECONDS = 20


@lru_cache(maxsize=256)
def commit_of(folder: Path) -> str:
    """Return the commit that is checked out around ``folder``; ``unknown`` outside of a checkout, or without git.

    ``-dirty`` is appended if a tracked file was changed, or the folder holds files that git does not know.
    """
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
    """Return git's status of a whole checkout, once for all its folders: it takes as long as several verdicts."""
    return _output(root, "status", "--porcelain=v2", "--branch", "--untracked-files=normal", "-z")


def _checkout_root(folder: Path) -> Path:
    """Return the root of the checkout that contains the folder; the folder itself if none does."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


@lru_cache(maxsize=1024)
def path_in_checkout(file: Path) -> str:
    """Return a file's path in its checkout, found without git; else its path from the current folder."""
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
