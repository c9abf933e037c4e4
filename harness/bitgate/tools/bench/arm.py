"""The things that a sweep compares: an arm is a choice of kernels, options and sources; a candidate is one instance of
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem


@dataclass(frozen=True)
class Arm:
    """One side of a comparison.

    ``kernel`` is a glob over family.instance; None stands for every kernel that is not a reference. ``tree`` is the
    checkout whose kernels are built; None stands for the project itself. ``build`` names it in the record (a commit).
    """

    name: str
    kernel: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    tree: Path | None = None
    build: str = ""


@dataclass(frozen=True)
class Candidate:
    """One instance of an arm on one problem."""

    side: Arm
    kernel: Kernel

    @property
    def words(self) -> str:
        """The candidate as a line for people: ``B: grouped_fwd.x32 flat_path_gate=off``."""
        options = " ".join(f"{name}={value}" for name, value in self.kernel.options)
        return " ".join(filter(None, [f"{self.side.name}:" if self.side.name else "", self.kernel.name, options]))


@dataclass(frozen=True)
class TimedShape:
    """A problem of a sweep, with the name that people know it by."""

    problem: Problem
    name: str = ""
    sweep: str = ""
