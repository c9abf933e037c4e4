"""A fault: one exact edit of one source file, made on a copy, and the defect it imitates."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.results.record import KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REQUIRED = ("name", "imitates", "file", "find", "replace")
OPTIONAL = ("diagnosis",)


@dataclass(frozen=True)
class Fault:
    """A seeded defect.

    ``file`` is relative to the root of its project; ``find`` occurs in it exactly once. ``diagnosis`` is the kind that
    the report of the killing case should name, empty if any will do.
    """

    name: str
    imitates: str
    file: str
    find: str
    replace: str
    diagnosis: str = ""
    source: str = ""
    """The fault file that defines it."""

    @property
    def family(self) -> str:
        """The family of bitgate whose folder contains ``file``, empty if it is a source of several."""
        match = re.match(r"kernels/(?!include/|platforms/|device_tools/)(\w+)/", self.file)
        return match[1] if match else ""

    def seeded(self, root: Path) -> str:
        """Return the text of ``file`` with the fault in it. Raises UsageError if ``find`` does not occur there exactly
        once."""
        path = root / self.file
        if not path.is_file():
            raise UsageError(f"{self.source}: fault {self.name}: {self.file} does not exist below {root}")
        text = path.read_text()
        count = text.count(self.find)
        if count != 1:
            raise UsageError(
                f"{self.source}: fault {self.name}: `find` occurs {count} times in {self.file}, not once:"
                f" {'quote more of what is around it' if count else 'the source has changed, quote it again'}"
            )
        return text.replace(self.find, self.replace)

    def plant(self, root: Path, overlay: Path) -> None:
        """Write the seeded file below ``overlay``, at the same relative path."""
        copy = overlay / self.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(self.seeded(root))


def read_faults(paths: Sequence[Path]) -> tuple[Fault, ...]:
    """Read the faults of some files, in order; names are unique over all files.

    Raises UsageError with the file, fault and key at fault.
    """
    faults = [fault for path in paths for fault in _read(path)]
    names: dict[str, str] = {}
    for fault in faults:
        if fault.name in names:
            raise UsageError(f"{fault.source}: fault {fault.name} is in {names[fault.name]} already: rename one")
        names[fault.name] = fault.source
    return tuple(faults)


def choose(faults: Sequence[Fault], glob: str) -> tuple[Fault, ...]:
    """Return the faults whose name matches. Raises UsageError with the nearest name if none does."""
    chosen = tuple(fault for fault in faults if fnmatchcase(fault.name, glob))
    if not chosen:
        names = [fault.name for fault in faults]
        nearest = get_close_matches(glob, names, 1, 0.3) or names[:1]
        raise UsageError(f"no fault is named '{glob}'" + (f": the nearest is {nearest[0]}" if nearest else ""))
    return chosen


def _read(path: Path) -> list[Fault]:
    try:
        document = tomllib.loads(path.read_text())
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number of thousands of digits
        raise UsageError(f"{path}: {error}") from None
    tables = document.get("fault")
    if set(document) != {"fault"} or not isinstance(tables, list) or not tables:
        raise UsageError(f"{path}: a fault file holds one or more [[fault]] tables and nothing else")
    return [_fault(path, number, table) for number, table in enumerate(tables, 1)]


def _fault(path: Path, number: int, table: dict[str, Any]) -> Fault:
    where = f"{path}: fault {table.get('name', number)}"
    for key, value in table.items():
        if key not in (*REQUIRED, *OPTIONAL):
            raise UsageError(f"{where}: unknown key '{key}': known are {', '.join((*REQUIRED, *OPTIONAL))}")
        if not isinstance(value, str):
            raise UsageError(f"{where}: {key} is a text")
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise UsageError(f"{where}: {', '.join(missing)} missing")
    fault = Fault(**table, source=str(path))
    if not re.fullmatch(r"[a-z0-9_]+", fault.name):
        raise UsageError(f"{where}: a name has the characters a to z, 0 to 9 and _ only")
    if not fault.find or fault.find == fault.replace:
        raise UsageError(f"{where}: `find` is empty or equals `replace`: nothing would change")
    if fault.diagnosis and fault.diagnosis not in KINDS:
        raise UsageError(f"{where}: diagnosis '{fault.diagnosis}' is none of {', '.join(KINDS)}")
    if Path(fault.file).is_absolute() or ".." in Path(fault.file).parts:
        raise UsageError(f"{where}: file {fault.file} is not a path below the root of its project")
    return fault
