"""exhibits.toml as objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bitgate.core.toml import parse_toml

HERE = Path(__file__).resolve().parent
DECLARATION = HERE / "kernels" / "declaration.py"
HEALTHY = "museum.healthy"


@dataclass(frozen=True)
class Exhibit:
    """One line of the table, which tells the fields. ``number`` counts from 1, ``hall`` is the line's list."""

    number: int
    hall: str
    name: str
    does: str
    verdict: str
    says: str = ""
    gpu: bool = False
    verdict_gpu: str = ""
    load: bool = False
    gap: bool = False
    alone: bool = False
    apart: bool = False

    @property
    def kernel(self) -> str:
        return f"museum_{self.name}.healthy" if self.load else f"museum.{self.name}"

    @property
    def declaration(self) -> Path:
        return HERE / "loads" / f"{self.name}.py" if self.load else DECLARATION

    @property
    def shape(self) -> str:
        """Its own: no process has seen its problem before."""
        return shape(self.number) + "_gap" * self.gap

    @property
    def case(self) -> str:
        return f"fwd_f32_nhwgc_{self.shape}"

    def difference(self, verdict: str, reason: str) -> str:
        """What was to be and what was; empty if they agree."""
        if verdict == self.verdict and self.says.lower() in reason.lower():
            return ""
        word = f" that says '{self.says}'" if self.says else ""
        return f"{self.name} ({self.does}): {self.verdict}{word}, not {verdict}: {reason or 'no reason'}"


def shape(number: int) -> str:
    return f"g1n1k4c8_y1x1_h{2 + number // 12}x{3 + number % 12}"


def _read() -> Iterator[Exhibit]:
    numbers = count(1)
    for hall, rows in parse_toml((HERE / "exhibits.toml").read_text()).items():
        for row in rows:
            yield Exhibit(next(numbers), hall, **row)


EXHIBITS = tuple(_read())
"""All of them, in the table's order."""

TOGETHER = tuple(exhibit for exhibit in EXHIBITS if not exhibit.alone and not exhibit.apart)
"""Those that may hang in one suite with others."""

APART = tuple(exhibit for exhibit in EXHIBITS if exhibit.apart)
"""Those that hang among healthy ones."""
