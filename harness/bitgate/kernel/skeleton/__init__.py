"""A repository for a kernel that is to be written: it runs, it is green, and its one seeded defect is found."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.kernel.registry import families
from bitgate.model import operations

PLACE = "@NAME@"
"""What stands for the name, in files and in where they go."""

FILES = {
    "bitgate.toml": "bitgate.toml",
    ".gitignore": "gitignore",
    "kernels/@NAME@/operation.py": "operation.py",
    "kernels/@NAME@/declaration.py": "declaration.py",
    "kernels/@NAME@/@NAME@.hip.cpp": "kernel.hip.cpp",
    "suites/@NAME@/cases.toml": "cases.toml",
    "suites/@NAME@/test_@NAME@.py": "test_suite.py",
    "suites/faults/@NAME@.toml": "faults.toml",
}
"""Where each goes, below the new folder -> the template."""

VERDICTS = 8
"""Of its smoke tier."""

LONGEST = 40


def check_name(name: str) -> None:
    """UsageError for what can be no name of a family, an operation, a C++ namespace and a folder at once."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST:
        what = f"a-z, 0-9 and single _ between them, a letter first, at most {LONGEST} characters, such as row_sums"
        raise UsageError(f"kernels new: {name[:80]!r} can be no name of a kernel: {what}")
    for known, kind in ((families(), "a kernel family"), (operations(), "an operation")):
        if name in known:
            raise UsageError(f"kernels new: bitgate has {kind} '{name}': choose another name")


def make(name: str, below: Path) -> list[Path]:
    """Write a new folder ``name`` and return its files, relative to ``below``. Raises UsageError if the name is none,
    if the folder exists, or if it cannot be written; then nothing is left."""
    check_name(name)
    folder = below / name
    try:
        folder.mkdir()
    except FileExistsError:
        raise UsageError(f"kernels new: {folder} is there already: choose another name, or move it away") from None
    except OSError as error:
        raise _cannot(folder, error) from None
    try:
        return [_write(name, below, path, template) for path, template in FILES.items()]
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise _cannot(folder, error) from None
        raise


def _write(name: str, below: Path, where: str, template: str) -> Path:
    path = Path(name) / where.replace(PLACE, name)
    text = (files(__name__) / "files" / f"{template}.template").read_text()
    (below / path).parent.mkdir(parents=True, exist_ok=True)
    (below / path).write_text(text.replace(PLACE, name))
    return path


def _cannot(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"kernels new: {folder} cannot be made: {error.strerror}: go to a folder that can be written")
