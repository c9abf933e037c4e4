"""One case on the kernels that a caller names: what ``bitgate.verify`` and the pytest fixture ``bitgate`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from bitgate.core.errors import UsageError, near
from bitgate.core.project import Project
from bitgate.kernel.loading import with_operations
from bitgate.kernel.python_callable import declare
from bitgate.kernel.resolved import NO_KERNEL
from bitgate.model import Problem, ProblemError, parse_case_id
from bitgate.numerics.fill import fill_names
from bitgate.verify.planned import PlannedCase
from bitgate.verify.selection import candidates, planned_on

KernelArgument: TypeAlias = "str | Path | Callable[..., object] | None"
"""A glob over ``family.instance``, the path of a declaration, or a Python function; None: what the project runs on."""


def problem_of(case: str) -> Problem:
    """Return the problem of a case id. UsageError names the part of the id that is wrong."""
    try:
        return parse_case_id(case)
    except ProblemError as error:
        raise UsageError(str(error)) from None


def is_declaration(kernel: object) -> bool:
    """Return whether the argument names a declaration file, or the folder of one, rather than kernels by a glob."""
    return isinstance(kernel, Path) or (isinstance(kernel, str) and (kernel.endswith(".py") or "/" in kernel))


@dataclass(frozen=True)
class OneCase:
    """A case, the kernels that it is to run on, and its data."""

    case: str
    kernel: KernelArgument
    target: str
    project: Project
    fill: str = "exact"
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    """The clause by which each kernel must refuse it; empty: each must compute it."""

    @cached_property
    def loaded(self) -> Project:
        """The project with the declaration that ``kernel`` names; its operations are known from now on."""
        if callable(self.kernel):
            return self.project.loading([declare(self.kernel, problem_of(self.case))])
        added = [Path(self.kernel)] if self.kernel is not None and is_declaration(self.kernel) else []
        return with_operations(self.project.loading(added))

    def planned(self) -> Iterator[PlannedCase]:
        """Yield the case on each kernel that takes it; if none does, on each that refuses it; if there is none at all,
        one planned case without a kernel. UsageError with the nearest name for an unknown kernel, option or fill."""
        if self.fill not in fill_names():
            raise UsageError(f"fill '{self.fill}': {near(self.fill, fill_names())}")
        project = self.loaded
        problem = problem_of(self.case)
        glob = self.kernel if isinstance(self.kernel, str) and not is_declaration(self.kernel) else None
        planned = PlannedCase(problem, NO_KERNEL, self.fill, self.seed, target=self.target, refused=self.refused)
        chosen = candidates(glob, self.options, self.target, project, modules=True)
        yield from planned_on(planned, chosen, glob, project)
