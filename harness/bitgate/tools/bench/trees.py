"""Sources of other commits, of which this harness builds an arm of a comparison."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bitgate.core import git, paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.project_file import FILE, read

ARCHIVE_SECONDS = 300


@dataclass(frozen=True)
class Tree:
    """A project in another folder.

    ``declarations`` are bitgate's there; None stands for those of the running bitgate. ``environment`` is what a
    process of its kernels starts with.
    """

    project: Project
    declarations: tuple[Path, ...] | None = None
    environment: Mapping[str, str] | None = None


def tree_of(project: Project, folder: Path | None) -> Tree:
    """Return the project as it is in ``folder``, a checkout of the same repository; None stands for the project as it
    is here.

    Raises UsageError if the folder is not such a checkout.
    """
    if folder is None:
        return Tree(project)
    folder = folder.resolve()
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name a checkout of the project")
    top = _top(project.root)
    if project.is_ours:
        if not paths.is_root(folder):
            raise UsageError(f"{folder}: holds no kernels/include/bitgate/abi.h: name a checkout of bitgate")
        there = replace(project, root=folder, suites=(folder / "suites",), targets=None, faults=())
        declarations = tuple(sorted((folder / "kernels").glob("*/declaration.py")))
        environment = {**os.environ, paths.VARIABLE: str(folder)}
        return Tree(_moved(there, top, folder), declarations, environment)
    root = folder / project.root.resolve().relative_to(top)
    if not (root / FILE).is_file():
        raise UsageError(f"{root}: holds no {FILE}: name a checkout of the same project")
    return Tree(_moved(replace(read(root / FILE), added=project.added), top, folder))


def _moved(project: Project, top: Path, folder: Path) -> Project:
    """Return the project with the declarations that a command named taken from the other folder, if the repository has
    them."""

    def moved(path: Path) -> Path:
        path = path.resolve()
        return folder / path.relative_to(top) if path.is_relative_to(top) else path

    return replace(project, added=tuple(map(moved, project.added)))


def _top(folder: Path) -> Path:
    """Return the root of the repository; the folder itself outside of one."""
    done = git.ask(folder, "rev-parse", "--show-toplevel")
    return Path(done.stdout.strip()).resolve() if done.returncode == 0 else folder.resolve()


def commit_of(project: Project, name: str, option: str) -> str:
    """Return the full id of a commit of the project's repository. Raises UsageError if there is none."""
    done = git.ask(project.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.returncode:
        raise UsageError(f"{option} {name:.100}: {project.root} knows no such commit")
    return done.stdout.strip()


def sources_of(project: Project, commit: str) -> Path:
    """Return the repository's files at a commit, in the cache; they are extracted at the first call.

    Neither the checkout nor its repository is changed. Raises UsageError if git cannot provide them.
    """
    folder = paths.cache_dir() / "trees" / commit
    if folder.is_dir():
        return folder
    packed = git.bytes_of(_top(project.root), ARCHIVE_SECONDS, "archive", "--format=tar", commit)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="fresh-", dir=folder.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            _extract(files, fresh)
        fresh.chmod(0o755)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _extract(files: tarfile.TarFile, folder: Path) -> None:
    if hasattr(tarfile, "data_filter"):
        files.extractall(folder, filter="data")
    else:  # Python before the filter: git packs neither absolute names nor devices
        files.extractall(folder)
