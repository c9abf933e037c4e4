"""The adversarial kernels of catalogue.toml as objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bitgate.core.toml import parse_toml

HERE = Path(__file__).resolve().parent
DECLARATION = HERE / "kernels" / "declaration.py"
HEALTHY = "adversarial.healthy"


@dataclass(frozen=True)
class BadKernel:
    """One line of the table, which documents the fields. ``number`` counts from 1, ``group`` is the line's list."""

    number: int
    group: str
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
    def hangs(self) -> bool:
        """Whether only its deadline ends it."""
        return self.verdict == "HUNG" and self.says == "no verdict"

    @property
    def kernel(self) -> str:
        return f"adversarial_{self.name}.healthy" if self.load else f"adversarial.{self.name}"

    @property
    def declaration(self) -> Path:
        return HERE / "loads" / f"{self.name}.py" if self.load else DECLARATION

    @property
    def shape(self) -> str:
        """A separate one for each: no process has seen its problem before."""
        return shape(self.number) + "_gap" * self.gap

    @property
    def case(self) -> str:
        return f"fwd_f32_nhwgc_{self.shape}"

    def difference(self, verdict: str, reason: str) -> str:
        """What was to be and what was; empty if they agree."""
        if self.verdict == "red" and verdict not in ("PASS", "nothing"):
            return ""
        if verdict == self.verdict and self.says.lower() in reason.lower():
            return ""
        word = f" that says '{self.says}'" if self.says else ""
        return f"{self.name} ({self.does}): {self.verdict}{word}, not {verdict}: {reason or 'no reason'}"


def shape(number: int) -> str:
    return f"g1n1k4c8_y1x1_h{2 + number // 12}x{3 + number % 12}"


def _read() -> Iterator[BadKernel]:
    numbers = count(1)
    for group, rows in parse_toml((HERE / "catalogue.toml").read_text()).items():
        for row in rows:
            yield BadKernel(next(numbers), group, **row)


BAD_KERNELS = tuple(_read())
"""All of them, in the table's order."""

_AMONG_OTHERS = tuple(bad for bad in BAD_KERNELS if not bad.alone and not bad.apart)

TOGETHER = tuple(bad for bad in _AMONG_OTHERS if not bad.hangs)
"""Those that may run in one suite with others."""

HANGING = tuple(bad for bad in _AMONG_OTHERS if bad.hangs)
"""Those that run in one suite with a short deadline."""

APART = tuple(bad for bad in BAD_KERNELS if bad.apart)
"""Those that run among healthy ones."""
