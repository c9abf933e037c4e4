"""A fault: one exact edit of one source file, made on a copy, and the defect it imitates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.table_fields import TableFields, are_tables, like, one_of, string, text
from bitgate.core.toml import read_toml
from bitgate.results.record import KINDS
from bitgate.tools.faults.source_text import source_text


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
        text = source_text(path)
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


def sampled(
    faults: Sequence[Fault], count: int, seed: int, reached: Callable[[Fault], Sequence[str]]
) -> tuple[Fault, ...]:
    """Draw faults of few families, in their order: a sample of all would build the libraries of all.

    ``reached``: the families whose libraries a fault changes; the first of them is tried first.
    """
    of_family = defaultdict[str, list[Fault]](list)
    for fault in faults:
        of_family["".join(reached(fault)[:1])].append(fault)
    random, drawn = Random(seed), set[Fault]()
    for name in random.sample(sorted(of_family), len(of_family)):
        own = of_family[name]
        drawn.update(random.sample(own, min(len(own), count - len(drawn))))
    return tuple(fault for fault in faults if fault in drawn)


def _read(path: Path) -> list[Fault]:
    document, _ = read_toml(path)
    tables = document.get("fault")
    if set(document) != {"fault"} or not are_tables(tables) or not tables:
        raise UsageError(f"{path}: a fault file holds one or more [[fault]] tables and nothing else")
    return [_fault(path, number, table) for number, table in enumerate(tables, 1)]


def _fault(path: Path, number: int, stated: dict[str, Any]) -> Fault:
    where = f"{path}: fault {stated.get('name', number)}"
    fault = Fault(**_FIELDS.read(where, stated), source=str(path))
    if not fault.find or fault.find == fault.replace:
        raise UsageError(f"{where}: `find` is empty or equals `replace`: nothing would change")
    return fault


def _file(value: Any) -> str:
    name = text(value)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"{name} is not a path below the root of its project")
    return name


_FIELDS = TableFields(
    {
        "name": like(r"[a-z0-9_]+", "drops_a_barrier: it has the characters a to z, 0 to 9 and _ only"),
        "imitates": string,
        "file": _file,
        "find": string,
        "replace": string,
        "diagnosis": lambda value: value and one_of(*KINDS)(value),
    },
    {
        "name": "what the fault is called",
        "imitates": "the defect that it imitates, such as a ticket",
        "file": "the source that is edited, relative to the root of its project",
        "find": "the text to replace, which the file holds exactly once",
        "replace": "the text to put in its place",
    },
)
