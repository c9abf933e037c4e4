"""Projects: a user's repository, as its ``bitgate.toml`` describes it, or bitgate itself.

Each command, and the pytest plugin, makes one Project when it starts and passes it down. Nothing else knows where
kernels, suites, targets and templates are, so that a user's repository is served as bitgate itself is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core import paths
from bitgate.core.choices import JUNIT_DIALECTS, TIERS
from bitgate.core.errors import UsageError, near

TABLE = "cases.toml"
OPERATION = "operation.py"
"""The file next to a declaration that defines the operation of its kernels, if bitgate has no such operation."""


@dataclass(frozen=True)
class Project:
    """A repository of kernels and suites, as absolute paths.

    ``root`` is the folder to which file names in faults, and test ids, are relative.
    """

    root: Path
    suites: tuple[Path, ...]
    """Folders whose subfolders are suites."""
    load: tuple[Path, ...] = ()
    """The user's declarations of kernels; a folder stands for its declaration.py."""
    added: tuple[Path, ...] = ()
    """Further declarations for this command only: ``--load``, ``BITGATE_LOAD``, a case table's ``load``."""
    targets: Path | None = None
    """The file of CI's targets and pools."""
    tiers: tuple[str, ...] = TIERS
    faults: tuple[Path, ...] = ()
    """Files of seeded defects."""
    known_bugs: tuple[Path, ...] = ()
    """Ledgers for all suites, in addition to those next to suites and declarations."""
    operations: tuple[Path, ...] = ()
    """Python files, each with an operation of the user's."""
    rules: tuple[Path, ...] = ()
    """Python files with the user's rules of diagnosis."""
    junit: str = JUNIT_DIALECTS[0]
    """The dialect of junit.xml."""
    file: Path | None = None
    """The ``bitgate.toml`` that it was read from; None if there is none."""

    @property
    def is_ours(self) -> bool:
        """True for bitgate itself, whatever was loaded in addition."""
        return self.root == paths.root()

    @property
    def declarations(self) -> tuple[Path, ...]:
        """All declarations of the user's."""
        return tuple(dict.fromkeys((*self.load, *self.added)))

    @property
    def operation_files(self) -> tuple[Path, ...]:
        """The user's operations: those that ``bitgate.toml`` names, and the operation.py next to a declaration."""
        folders = (path if path.is_dir() else path.parent for path in self.declarations)
        beside = (folder / OPERATION for folder in folders)
        return tuple(dict.fromkeys((*self.operations, *(path.resolve() for path in beside if path.is_file()))))

    @property
    def runs_on(self) -> tuple[Path, ...]:
        """The declarations whose kernels alone suites run on; none: suites run on all kernels.

        Those that a command names take precedence over those of the file.
        """
        return self.added or self.load

    @property
    def shelves(self) -> tuple[Path, ...]:
        """Folders of suites in which tables, stored digests and durations are searched: its suites, then bitgate's."""
        return tuple(dict.fromkeys((*self.suites, *ours().suites)))

    def tables(self) -> tuple[Path, ...]:
        """Return the case tables of its suites.

        UsageError if a folder holds none, or two hold suites of one name: a suite's name is a part of the names of its
        results.
        """
        found: dict[str, Path] = {}
        for folder in self.suites:
            tables = sorted(folder.glob(f"*/{TABLE}"))
            if not tables:
                raise UsageError(f"{folder}: holds no suites; a suite is a folder with a {TABLE} and test modules")
            for table in tables:
                other = found.setdefault(table.parent.name, table)
                if other != table:
                    raise UsageError(f"{table.parent}: {other.parent} is a suite of that name already; rename one")
        return tuple(found.values())

    @property
    def ci_targets(self) -> Path:
        """The file of targets. UsageError, with the line to write, if the user has named none."""
        if self.targets is None:
            raise UsageError(f"{self.file}: targets is missing: write targets = 'ci/targets.toml', or give --targets")
        return self.targets

    def holds(self, path: Path) -> bool:
        """Return whether a file is in one of its folders of suites."""
        return any(path.is_relative_to(folder.resolve()) for folder in self.suites)

    def loading(self, declarations: Iterable[Path]) -> Project:
        """Return the project with further declarations."""
        added = (*self.added, *(path.absolute() for path in declarations))
        return replace(self, added=tuple(dict.fromkeys(added)))

    def of_suites(self, folder: Path | None) -> Project:
        """Return the project with the folder of suites that ``--suites`` names, if it names one."""
        return self if folder is None else replace(self, suites=(folder.absolute(),))

    def check_tier(self, tier: str) -> None:
        """Raise UsageError, with the nearest name, for an unknown tier."""
        if tier in TIERS and tier not in self.tiers:
            raise UsageError(f"--tier {tier}: {self.file} has {', '.join(self.tiers)} only")
        if tier not in self.tiers:
            raise UsageError(f"--tier {tier}: {near(tier, self.tiers)}")

    def as_json(self) -> dict[str, Any]:
        """Return the project as JSON, for a child process."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Project:
        values: dict[str, Any] = {name: _paths(value) for name, value in document.items()}
        return cls(**{**values, "tiers": tuple(document["tiers"]), "junit": document.get("junit", cls.junit)})


@lru_cache(maxsize=1)
def ours() -> Project:
    """Return bitgate itself as a project: a checkout, or the data of the wheel. UsageError if there is neither."""
    root = paths.root()
    suites = root / "suites"
    faults = tuple(sorted((suites / "faults").glob("*.toml")))
    return Project(root, (suites,), targets=root / "ci" / "targets.toml", faults=faults)


def own_kernels() -> Path:
    """Return the folder of bitgate's kernels, with the headers and the runtimes that every kernel is built with."""
    return paths.data_folder("kernels")


def harness_kernels() -> Path:
    """Return this harness's folder of kernels, with its C++ helpers, even if another commit's kernels are run."""
    return paths.home() / "kernels"


def own_declarations() -> tuple[Path, ...]:
    return tuple(sorted(own_kernels().glob("*/declaration.py")))


def templates() -> Path:
    """Return the folder of the templates of reports."""
    return paths.data_folder("reports") / "templates"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(one) for one in value]
    return None if value is None else str(value)


def _paths(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(Path, value))
    return None if value is None else Path(value)
