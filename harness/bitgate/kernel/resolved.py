"""Kernels that cases run on: family, instance and options, resolved from their names once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from bitgate.core.errors import UsageError
from bitgate.kernel.arguments import check_options, find_instance
from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.kernel.declared import refusal_of
from bitgate.model import DTYPES, Accumulation, Problem
from bitgate.model.thread_map import ThreadMap

Options = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel: an instance with its named options; the others keep their production value.

    Kernels are equal if their names are.
    """

    family: KernelFamily
    instance: Instance
    options: Options = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    @property
    def names(self) -> tuple[str, str, Options]:
        """Family, instance and options: the names by which another process finds the kernel."""
        return self.family.name, self.instance.name, self.options

    @cached_property
    def name(self) -> str:
        """The name that globs select on: ``family.instance``."""
        return f"{self.family.name}.{self.instance.name}"

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The value of every option of the family."""
        return {option.name: option.production for option in self.family.options} | dict(self.options)

    @property
    def is_production(self) -> bool:
        """True if every option has its production value."""
        return all(self.settings[option.name] == option.production for option in self.family.options)

    def computes(self, problem: Problem) -> bool:
        """Return whether the kernel offers the problem's operation."""
        return problem.operation.name in self.family.operations_of(self.instance)

    def refusal(self, problem: Problem) -> Refusal | None:
        """Return why the kernel does not take the problem: by what is declared, then by its predicate."""
        return refusal_of(self.family, self.instance, problem, self.settings)

    def prediction(self, problem: Problem) -> Dispatch | None:
        """Return the declaration's prediction of what runs, if it makes one."""
        return self.family.dispatch(problem, self.instance, self.settings)

    def thread_map(self, problem: Problem) -> ThreadMap | None:
        """Return which thread writes which cell, if the declaration states it."""
        return self.family.thread_map(problem, self.instance, self.settings)


def family_called(families: Mapping[str, KernelFamily], name: str) -> KernelFamily:
    """Return the family of a name. UsageError with the known names if there is none."""
    if name not in families:
        raise UsageError(f"no kernel family '{name}': known are {', '.join(families)}")
    return families[name]


def kernel_called(
    families: Mapping[str, KernelFamily], family: str, instance: str, options: Iterable[tuple[str, str]] = ()
) -> Kernel:
    """Return the kernel of these names. UsageError with the nearest name if there is none, or no such option."""
    found = family_called(families, family)
    return Kernel(found, find_instance(found, instance), check_options(found, dict(options)))


def _no_kernel() -> Kernel:
    instance = Instance("none", "", (), (), (), Accumulation(DTYPES["f32"]))
    family = KernelFamily(
        name="none",
        operations=(),
        platforms=(),
        instances=(instance,),
        supports=lambda problem, instance, options: Refusal("none", "no kernel takes it"),
    )
    return Kernel(family, instance)


NO_KERNEL = _no_kernel()
"""The kernel of a case that no kernel takes: the case is planned, and its verdict says so."""
