"""Changed files by git, with their former contents."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bitgate.core.errors import UsageError

LONGEST_SECONDS = 120


@dataclass(frozen=True)
class FileChange:
    """A file that was edited, added or deleted; a renamed one is two: the old name deleted, the new one added."""

    path: Path
    """Absolute."""
    before: bytes | None = None
    """The former contents; None if the file did not exist, or they are unknown."""

    @property
    def is_gone(self) -> bool:
        return not self.path.is_file()

    @property
    def now(self) -> bytes | None:
        """The present contents; None if the file no longer exists."""
        return None if self.is_gone else self.path.read_bytes()


def named(files: Iterable[Path]) -> tuple[FileChange, ...]:
    """Return changes of files of which only the names are known: their whole contents count as changed."""
    return tuple(FileChange(path) for path in dict.fromkeys(_real(file) for file in files))


def since(base: str, folder: Path, *, uncommitted: bool = False) -> tuple[FileChange, ...]:
    """Return what differs from the last commit that ``HEAD`` and ``base`` share, or from ``base`` if they share none.

    ``uncommitted``: include uncommitted changes and untracked files. Raises UsageError without git, a repository, or
    such a commit.
    """
    top = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    start = fork(base, folder)
    stated = [start] if uncommitted else [start, "HEAD"]
    listed = _git(top, "diff", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", *stated, "--")
    names = listed.split("\0")
    if uncommitted:
        names += _git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return tuple(FileChange(_real(top / name), _blob(top, start, name)) for name in sorted(set(filter(None, names))))


def fork(base: str, folder: Path) -> str:
    """Return the commit from which changes count."""
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}", silent=True)
    if not commit:
        raise UsageError(
            f"--base {base}: git knows no such commit here; fetch it first (a workflow's checkout needs fetch-depth: 0)"
        )
    return (_git(folder, "merge-base", commit.strip(), "HEAD", silent=True) or commit).strip()


def tracked(folder: Path) -> tuple[Path, ...]:
    """Return the files below a folder that git tracks."""
    return tuple(_real(folder / name) for name in _git(folder, "ls-files", "-z").split("\0") if name)


def _real(path: Path) -> Path:
    """Return an absolute path with links in its folders followed, so that it is unique; a link itself stays one."""
    return path.absolute().parent.resolve() / path.name


def _blob(top: Path, commit: str, name: str) -> bytes | None:
    done = _run(top, "cat-file", "blob", f"{commit}:{name}")
    return done.stdout if done.returncode == 0 else None


def _git(folder: Path, *arguments: str, silent: bool = False) -> str:
    """Return the output of git.

    If git fails, raises UsageError with its message, or returns an empty text if ``silent``.
    """
    done = _run(folder, *arguments)
    if done.returncode and not silent:
        message = done.stderr.decode(errors="replace").strip().splitlines() or [f"ended with {done.returncode}"]
        raise UsageError(f"git {arguments[0]} in {folder}: {message[0]}; give the changed files by name instead")
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def _environment() -> dict[str, str]:
    """Return the environment without a hook's GIT_DIR, which would name another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            timeout=LONGEST_SECONDS,
            env=_environment(),
        )
    except FileNotFoundError:
        raise UsageError("git is not installed: install it, or give the changed files by name") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {arguments[0]} took more than {LONGEST_SECONDS} s; try again") from None
