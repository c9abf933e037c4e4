"""The code that verdicts rest on, besides the kernels: a resumed run keeps what the same code has judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import bitgate
from bitgate.core.project import Project

HARNESS = (".py", ".cpp", ".hpp")
SUITES = (".py", ".toml", ".txt", ".json")
"""Tests and their helpers, tables, solved lists, stored digests."""


def digest_of_code(project: Project) -> str:
    """Return one hash over bitgate itself and what the project says of its cases: suites with their tables and stored
    digests, operations, declarations with the Python files beside them, rules of diagnosis, bitgate.toml. Another
    checkout of the same files has the same hash.
    """
    contents = sorted(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in set(_files(project)))
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()


def _files(project: Project) -> Iterator[Path]:
    yield from _below(Path(bitgate.__file__).parent, HARNESS)
    for shelf in project.shelves:
        yield from _below(shelf, SUITES)
    for declaration in project.declarations:
        yield from (declaration if declaration.is_dir() else declaration.parent).glob("*.py")
    stated = (*project.operation_files, *project.rules, project.root / "conftest.py", project.file)
    yield from (file for file in stated if file is not None and file.is_file())


def _below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.suffix in suffixes and file.is_file())
