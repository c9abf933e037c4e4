"""Selection of the instances that a problem is verified on, and the plan of a single case on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.kernel.arguments import check_options, nearest
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.loading import loaded_names
from bitgate.kernel.registry import select
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.source import is_module
from bitgate.model import Problem
from bitgate.runtime.targets import platform_of
from bitgate.verify.planned import PlannedCase


@dataclass(frozen=True)
class KernelSelection:
    """Kernels by whether their declaration supports the problem; those that refuse it with the expected refusal."""

    supporting: tuple[Kernel, ...]
    refusing: tuple[tuple[Kernel, Refusal], ...]

    @property
    def clauses(self) -> tuple[tuple[Kernel, str], ...]:
        """The refusing kernels with their clauses, as a planned case states them."""
        return tuple((kernel, refusal.clause) for kernel, refusal in self.refusing)


def candidates(
    glob: str | None,
    options: Mapping[str, str],
    target: str,
    project: Project | None = None,
    own: Sequence[Path] | None = None,
    *,
    modules: bool = False,
) -> list[Kernel]:
    """Return the instances on a target that a glob names, or those a project runs on, or all that are no references.

    Each has the options. ``own`` is as in ``registry.families``. An option must be known to at least one of the
    families; families that lack it are left out. Raises UsageError with the nearest name otherwise. ``modules``: on the
    host those of compiled device code are returned too, which are not run there.
    """
    platform = platform_of(target)
    load = project.runs_on if project else ()
    chosen = select(glob, project, target, own)
    if glob is None and load:
        mine = loaded_names(load)
        chosen = [(family, instance) for family, instance in chosen if family.name in mine]
    elif glob is None:
        chosen = [(family, instance) for family, instance in chosen if not family.is_reference] or chosen
    chosen = [
        (family, instance)
        for family, instance in chosen
        if platform in family.platforms or (modules and platform == "host" and is_module(family.sources))
    ]
    if not chosen:
        which = f"that matches '{glob}' " if glob else "that is loaded " if load else ""
        raise UsageError(f"no kernel {which}is for {target}")
    families = {family.name: family for family, _ in chosen}
    knowing = {name for name, family in families.items() if all(family.option(option) for option in options)}
    if not knowing:
        known = sorted({option.name for family in families.values() for option in family.options})
        for name in options:
            if name not in known:
                raise UsageError(f"no selected kernel has an option '{name}'{nearest(name, known)}")
        raise UsageError(f"no kernel has all of the options {', '.join(options)}")
    stated = {name: check_options(families[name], options) for name in sorted(knowing)}
    return [Kernel(family, instance, stated[family.name]) for family, instance in chosen if family.name in knowing]


def select_for(problem: Problem, chosen: Sequence[Kernel]) -> KernelSelection:
    supporting: list[Kernel] = []
    refusing: list[tuple[Kernel, Refusal]] = []
    for kernel in chosen:
        if not kernel.computes(problem):
            continue
        refusal = kernel.refusal(problem)
        if refusal is None:
            supporting.append(kernel)
        else:
            refusing.append((kernel, refusal))
    return KernelSelection(tuple(supporting), tuple(refusing))


def planned_on(
    case: PlannedCase, chosen: Sequence[Kernel], glob: str | None, project: Project, *, may_refuse: bool = False
) -> Iterator[PlannedCase]:
    """Yield a case on each kernel that takes it; if none does, on each that refuses it.

    If none of those that ``glob`` names computes the operation, the case itself is yielded, with the reason. Where
    kernels ``may_refuse``, the clause that each declares is what it must refuse by. Those that refuse a problem that
    others take do not concern it.
    """
    selection = select_for(case.problem, chosen)
    for kernel in selection.supporting:
        yield replace(case, kernel=kernel)
    if selection.supporting:
        return
    for kernel, clause in selection.clauses:
        yield replace(case, kernel=kernel, refused=clause if may_refuse else case.refused)
    if not selection.refusing:
        which = f"'{glob}'" if glob else "what is loaded" if project.runs_on else "any kernel that is no reference"
        reason = f"no kernel that was asked for ({which}) does this operation ({case.problem.operation})"
        yield replace(case, schedule="forward", no_kernel=reason)
