"""Lists of cases that were solved, not written: a line each, which a case table includes as rows.

A line is ``TIER CASE KERNEL FILL [NAME=VALUE ...] [!CLAUSE]  # WHY``: the kernel is ``family.instance``, options follow
by name, and a clause says that the kernel must refuse the case by it. ``gpu`` and ``host`` are tiers: smoke there, and
regression elsewhere. ``bitgate cases --solve`` writes the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from bitgate.core.choices import REGRESSION, SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.files import write_whole

SUFFIX = ".txt"
LINES = ""
"""The set of a file's rows that stands for the lines of a list, whose numbers are from 1."""
GPU = "gpu"
HOST = "host"
TIERS: Mapping[str, Any] = {
    SMOKE: SMOKE,
    GPU: {"host": REGRESSION, "gpu": SMOKE},
    HOST: {"host": SMOKE, "gpu": REGRESSION},
    REGRESSION: REGRESSION,
}
"""The tiers as a line names them, and as a row of a table does."""


@dataclass(frozen=True)
class SolvedCase:
    """A line of a list."""

    tier: str
    case: str
    kernel: str
    fill: str
    options: tuple[tuple[str, str], ...] = ()
    refused: str = ""
    why: str = ""
    line: int = field(default=0, compare=False)

    def __str__(self) -> str:
        words = [self.tier, self.case, self.kernel, self.fill, *(f"{name}={value}" for name, value in self.options)]
        words += [f"!{self.refused}"] * bool(self.refused)
        return f"{' '.join(words)}  # {self.why}"

    def tier_on(self, target_kind: str) -> str:
        """Return the tier on the host or a GPU."""
        tier = TIERS[self.tier]
        return str(tier if isinstance(tier, str) else tier[target_kind])

    @property
    def fields(self) -> dict[str, Any]:
        """The line as the fields of a row."""
        found: dict[str, Any] = {
            "case": self.case,
            "kernels": self.kernel,
            "fills": self.fill,
            "tier": TIERS[self.tier],
            "why": self.why,
        }
        if self.options:
            found["options"] = dict(self.options)
        if self.refused:
            found["expect"] = {"refused": self.refused}
        return found


def is_list(path: Path) -> bool:
    """Return whether a table includes the file as a list of solved cases."""
    return path.suffix == SUFFIX


def said_in(line: str) -> str:
    """Return a line's text without its reason, on which no verdict depends; empty for one that states no case."""
    return "" if line.startswith("#") else line.partition("  # ")[0].strip()


def read_list(path: Path) -> tuple[SolvedCase, ...]:
    """Read a list. Raises UsageError naming file and line for a line that is none."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _read(path: Path, stamp: int) -> tuple[SolvedCase, ...]:
    lines = enumerate(path.read_text().splitlines(), 1)
    return tuple(_case(path, number, text) for number, text in lines if text and not text.startswith("#"))


def _case(path: Path, number: int, text: str) -> SolvedCase:
    said, _, why = text.partition("  # ")
    words = said.split()
    if len(words) < 4 or words[0] not in TIERS or "." not in words[2] or not why:
        raise UsageError(
            f"{path}:{number}: not like 'smoke CASE FAMILY.INSTANCE FILL [NAME=VALUE ...] [!CLAUSE]  # WHY';"
            " write the list anew with `bitgate cases --solve`"
        )
    options: list[tuple[str, str]] = []
    refused = ""
    for word in words[4:]:
        name, equals, value = word.partition("=")
        if word.startswith("!"):
            refused = word[1:]
        elif equals and name and value:
            options.append((name, value))
        else:
            raise UsageError(f"{path}:{number}: '{word}' is neither NAME=VALUE nor !CLAUSE")
    tier, case, kernel, fill = words[:4]
    return SolvedCase(tier, case, kernel, fill, tuple(options), refused, why.strip(), number)


def write_list(path: Path, header: Iterable[str], cases: Iterable[SolvedCase]) -> None:
    """Write a list, sorted: tiers in their order, then kernels and cases."""
    order = list(TIERS)
    ordered = sorted(cases, key=lambda one: (order.index(one.tier), one.kernel, one.case, one.fill, one.options))
    write_whole(path, "".join(f"{line}\n" for line in [*(f"# {text}" for text in header), *map(str, ordered)]))
