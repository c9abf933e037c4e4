"""An operation: everything that the core asks when it meets a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model.diagnostics import Diagnostics
from bitgate.model.elementwise import applied
from bitgate.model.numerics import Numerics
from bitgate.model.space import ProblemSpace

if TYPE_CHECKING:
    from bitgate.model.problem import Problem

Group = TypeVar("Group")


class Operation(ABC):
    """One operation: ``name`` begins its case ids and is what kernels declare to offer.

    Two operations are the same if their names are.
    """

    name: str
    problem_type: type[Any] | None = None
    """The dataclass of its problems; its space follows from the fields where nothing else is stated."""
    layouts: frozenset[str] = frozenset()
    """The layouts that kernels may declare; empty: they declare none."""
    matrices: tuple[int, int, int] | None = None
    """A, B and C of the matrix product that kernels make of it, as places among the types of a case id (in, wei, out).

    None: it is no matrix product.
    """
    groups: Mapping[str, str] = {}
    """``numerics``, ``space`` or ``diagnostics`` -> ``module:class``, which is loaded when it is first asked for."""

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def parse(self, text: str, words: list[str]) -> Problem:
        """Return the problem of a case id; ``words`` follow the name. ProblemError names the part that is wrong."""

    @abstractmethod
    def spell(self, problem: Any) -> str:
        """Return the canonical case id, of characters ``[a-z0-9_]`` only: ``parse`` gives the problem back."""

    @abstractmethod
    def human(self, problem: Any) -> str:
        """Return the problem in one line for people."""

    def reference(self, problem: Any, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """Return the cells of each result by its role, before they are rounded: the plain definition.

        ``inputs`` are the operands as they are multiplied and what the epilogue reads, as int64 or f64, which the
        results have as well. Raises UsageError if there is neither a form nor a reference.
        """
        form = self.numerics.form(problem)
        if form is None:
            raise UsageError(f"{self} is not multilinear and states no reference: define Operation.reference")
        return {problem.result: applied(self.numerics.epilogue(problem), form.apply(inputs), inputs.get("d0"))}

    @cached_property
    def numerics(self) -> Numerics:
        """The judging of its results."""
        return self._group("numerics", Numerics)()

    @cached_property
    def space(self) -> ProblemSpace:
        """The problems that there are."""
        return self._group("space", ProblemSpace)(self)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """The explanations of its results."""
        return self._group("diagnostics", Diagnostics)()

    def _group(self, name: str, usual: type[Group]) -> type[Group]:
        module, _, own = self.groups.get(name, "").partition(":")
        found: type[Group] = getattr(import_module(module), own) if module else usual
        return found
