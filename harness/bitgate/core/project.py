"""Where things are: an owner's repository, as its ``bitgate.toml`` tells, or bitgate's own rooms.

A command, and the pytest plugin, makes one Project at its edge and passes it down. Nothing else in bitgate knows where
its own kernels, suites, targets and templates are, so that an owner's repository is served as bitgate's own is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core import paths
from bitgate.core.choices import TIERS
from bitgate.core.errors import UsageError, near

TABLE = "cases.toml"
OPERATION = "operation.py"
"""The file beside a declaration that states what its kernels compute, where bitgate has no such operation."""


@dataclass(frozen=True)
class Project:
    """Absolute paths. ``root`` is the folder that faults name their files from, and that test ids are relative to."""

    root: Path
    suites: tuple[Path, ...]
    """Folders whose folders are suites."""
    load: tuple[Path, ...] = ()
    """The owner's declarations of kernels; a folder stands for its declaration.py."""
    added: tuple[Path, ...] = ()
    """Further declarations, of this command only: ``--load``, ``BITGATE_LOAD``, a case table's ``load``."""
    targets: Path | None = None
    """The file of targets and pools that CI goes by."""
    tiers: tuple[str, ...] = TIERS
    faults: tuple[Path, ...] = ()
    """Files of seeded defects."""
    known_bugs: tuple[Path, ...] = ()
    """Ledgers that are for all suites, beside those that stand where the suites and declarations are."""
    operations: tuple[Path, ...] = ()
    """Python files, each with an operation of the owner's."""
    rules: tuple[Path, ...] = ()
    """Python files with rules of diagnosis of the owner's."""
    file: Path | None = None
    """The ``bitgate.toml`` that says so; None: no file does."""

    @property
    def is_ours(self) -> bool:
        """Is it bitgate itself, whatever was loaded on top?"""
        return self.root == paths.root()

    @property
    def declarations(self) -> tuple[Path, ...]:
        """The owner's, all of them."""
        return tuple(dict.fromkeys((*self.load, *self.added)))

    @property
    def operation_files(self) -> tuple[Path, ...]:
        """The owner's operations: those that the file names, and the operation.py beside a declaration."""
        folders = (path if path.is_dir() else path.parent for path in self.declarations)
        beside = (folder / OPERATION for folder in folders)
        return tuple(dict.fromkeys((*self.operations, *(path.resolve() for path in beside if path.is_file()))))

    @property
    def runs_on(self) -> tuple[Path, ...]:
        """The declarations whose kernels suites run on, and nothing else; none: on all kernels. What a command names
        goes before what the file does."""
        return self.added or self.load

    @property
    def shelves(self) -> tuple[Path, ...]:
        """Folders of suites in which a table, a stored digest, a duration is looked for: its own, then bitgate's."""
        return tuple(dict.fromkeys((*self.suites, *ours().suites)))

    def tables(self) -> tuple[Path, ...]:
        """The case tables of its suites. UsageError if a folder holds none, or two hold suites of one name: a suite's
        name is a part of what its results are known by."""
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
        """UsageError, with the line to write, if the owner has named no file of targets."""
        if self.targets is None:
            raise UsageError(f"{self.file}: targets is missing: write targets = 'ci/targets.toml', or give --targets")
        return self.targets

    def holds(self, path: Path) -> bool:
        """Does a file stand among its suites?"""
        return any(path.is_relative_to(folder.resolve()) for folder in self.suites)

    def loading(self, declarations: Iterable[Path]) -> Project:
        """With further declarations."""
        added = (*self.added, *(path.absolute() for path in declarations))
        return replace(self, added=tuple(dict.fromkeys(added)))

    def of_suites(self, folder: Path | None) -> Project:
        """With this folder of suites instead of its own, if one is named: ``--suites``."""
        return self if folder is None else replace(self, suites=(folder.absolute(),))

    def check_tier(self, tier: str) -> None:
        """UsageError, with the nearest name, for a tier that there is not."""
        if tier in TIERS and tier not in self.tiers:
            raise UsageError(f"--tier {tier}: {self.file} has {', '.join(self.tiers)} only")
        if tier not in self.tiers:
            raise UsageError(f"--tier {tier}: {near(tier, self.tiers)}")

    def as_json(self) -> dict[str, Any]:
        """For a child process."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Project:
        values: dict[str, Any] = {name: _paths(value) for name, value in document.items()}
        return cls(**{**values, "tiers": tuple(document["tiers"])})


@lru_cache(maxsize=1)
def ours() -> Project:
    """bitgate's own: a checkout, or what the wheel carries. UsageError if neither is there."""
    root = paths.root()
    suites = root / "suites"
    faults = tuple(sorted((suites / "faults").glob("*.toml")))
    return Project(root, (suites,), targets=root / "ci" / "targets.toml", faults=faults)


def own_kernels() -> Path:
    """The folder of bitgate's own kernels, with the headers and the runtimes that every kernel is built with."""
    return paths.room("kernels")


def harness_kernels() -> Path:
    """The same folder of this very harness, also where kernels of another commit are run: its C++ helpers lie there."""
    return paths.home() / "kernels"


def own_declarations() -> tuple[Path, ...]:
    return tuple(sorted(own_kernels().glob("*/declaration.py")))


def templates() -> Path:
    """The folder of the templates of reports."""
    return paths.room("reports") / "templates"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(one) for one in value]
    return None if value is None else str(value)


def _paths(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(Path, value))
    return None if value is None else Path(value)
