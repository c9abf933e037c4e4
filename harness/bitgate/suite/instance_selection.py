"""Selection of the kernel instances that run a candidate, by the families' predicates; and the others' refusals."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.declared import answering_families, harness_refusal
from bitgate.kernel.resolved import Kernel
from bitgate.suite.expand import ExpandedCase


def eligible(candidate: ExpandedCase, meant: Sequence[Kernel]) -> list[Kernel]:
    """Return the instances among ``meant`` that offer the operation and run the candidate, by their predicates."""
    wanted, problem = candidate.row.refused, candidate.problem
    found: list[Kernel] = []
    settings: dict[str, Mapping[str, str] | None] = {}
    answering = answering_families(problem.operation.name)
    for kernel in meant:
        family, instance = kernel.family, kernel.instance
        if family.name not in settings:
            settings[family.name] = None if _lacking(candidate, family) else _settings(candidate, kernel)
        known = settings[family.name]
        if known is None or (family.name not in answering and harness_refusal(family, instance, problem)):
            continue
        refusal = family.supports(problem, instance, known)
        if (refusal.clause if refusal else "") == wanted:
            found.append(kernel)
    return found


def refusals(candidate: ExpandedCase, meant: Sequence[Kernel]) -> list[str]:
    """Return each instance's objection, where none runs the candidate."""
    said: dict[str, None] = {}
    for kernel in meant:
        family, instance = kernel.family, kernel.instance
        refusal = harness_refusal(family, instance, candidate.problem)
        if not refusal and (lacking := _lacking(candidate, family)):
            said[f"{family.name} has no such option: {', '.join(lacking)}"] = None
            continue
        refusal = refusal or family.supports(candidate.problem, instance, _settings(candidate, kernel))
        words = f"{family.name}: {refusal.clause}: {refusal.text}" if refusal else f"{kernel.name} supports it"
        said[words] = None
    return list(said)


def _settings(candidate: ExpandedCase, kernel: Kernel) -> Mapping[str, str]:
    return replace(kernel, options=candidate.options).settings


def _lacking(candidate: ExpandedCase, family: KernelFamily) -> list[str]:
    """Options of the candidate that the family does not have."""
    return [name for name, value in candidate.options if not _has(family, name, value)]


def _has(family: KernelFamily, name: str, value: str) -> bool:
    option = family.option(name)
    return option is not None and option.allows(value)


def one_each(candidate: ExpandedCase, kernels: Sequence[Kernel]) -> list[Kernel]:
    """Draw one instance a family by the case's id, so that over the cases every instance is taken."""
    by_family: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        by_family.setdefault(kernel.family.name, []).append(kernel)
    draw = zlib.crc32(candidate.case.encode())
    return [group[draw % len(group)] for group in by_family.values()]
