"""What declaration and library say of instances, side by side; and each case on each instance as a test of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from bitgate.kernel.declaration import KernelFamily, Refusal
from bitgate.operation import parse_case_id

Said = Mapping[str, "tuple[Refusal | None, Refusal | None]"]
"""Instance -> refusal of the declaration, refusal of the library."""


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
