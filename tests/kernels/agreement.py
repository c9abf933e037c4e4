"""What declaration and library say of instances, side by side; and each case on each instance as a separate test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import reject

from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.library import KernelLibrary
from bitgate.model import Problem, ProblemError, parse_case_id

Said = Mapping[str, "tuple[Refusal | None, Refusal | None]"]
"""Instance -> refusal of the declaration, refusal of the library."""


Clauses = tuple[str | None, str | None]
LAYOUTS = {1: ("nwgc", "gnwc", "ngcw"), 2: ("nhwgc", "gnhwc", "ngchw"), 3: ("ndhwgc", "gndhwc", "ngcdhw")}
"""Of images, by spatial dimensions: ours, those with groups outermost, those with channels before the cells."""


def said(library: KernelLibrary, problem: Problem, options: Mapping[str, str] | None = None) -> Said:
    """Of all instances."""
    asked = dict(options or {})
    return {
        instance.name: (
            library.family.supports(problem, instance, asked),
            library.is_supported(problem, instance, asked),
        )
        for instance in library.family.instances
    }


def instance_called(family: KernelFamily, name: str) -> Instance:
    """Return the instance of this name."""
    found = family.instance(name)
    assert found, name
    return found


def clauses(
    library: KernelLibrary, problem: Problem, instance: str, options: Mapping[str, str] | None = None
) -> Clauses:
    """By which the declaration refuses, and the library; None: supported."""
    asked = dict(options or {})
    declared = library.family.supports(problem, instance_called(library.family, instance), asked)
    answered = library.is_supported(problem, instance, asked)
    return (declared.clause if declared else None), (answered.clause if answered else None)


def possible(text: str) -> Problem:
    """A drawn case; hypothesis draws again if it cannot be."""
    try:
        return parse_case_id(text)
    except ProblemError:
        reject()


def disagreements(said: Said) -> dict[str, tuple[Refusal | None, Refusal | None]]:
    """The instances on which the two differ, all of them; ``said`` must be of some."""
    assert said
    return {name: both for name, both in said.items() if len({refusal and refusal.clause for refusal in both}) > 1}


def runs(family: KernelFamily, cases: Iterable[str]) -> list[Any]:
    """Parameters (case, instance): each case on every instance that takes it. AssertionError for one that none takes,
    which would hold nothing."""
    found = []
    for case in dict.fromkeys(cases):
        problem = parse_case_id(case)
        takers = [instance.name for instance in family.instances if family.supports(problem, instance, {}) is None]
        assert takers, f"no instance of {family.name} takes {case}"
        found += [pytest.param(case, name, id=f"{case}-{name}") for name in takers]
    return found


def instances_in(parameters: Iterable[Any]) -> set[str]:
    return {parameter.values[1] for parameter in parameters}
