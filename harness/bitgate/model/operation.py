"""What an operation is: all that the core asks when it meets a problem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model.elementwise import applied
from bitgate.model.exactness import Exactness
from bitgate.model.insight import Insight
from bitgate.model.space import Space

if TYPE_CHECKING:
    from bitgate.model.problem import Problem

Group = TypeVar("Group")


class Operation(ABC):
    """One operation: ``name`` begins its case ids and is what kernels declare to offer.

    Two operations are the same if their names are.
    """

    name: str
    problem_type: type[Any] | None = None
    """The dataclass of its problems; what nobody says of its space follows from the fields."""
    layouts: frozenset[str] = frozenset()
    """The layouts that kernels may declare; empty: they declare none."""
    matrices: tuple[int, int, int] | None = None
    """A, B and C of the matrix product that kernels make of it, as places among the types of a case id (in, wei, out);
    None: it is none."""
    groups: Mapping[str, str] = {}
    """``exactness``, ``space`` or ``insight`` -> ``module:class`` of its own, which is loaded when first asked."""

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def parse(self, text: str, words: list[str]) -> Problem:
        """The problem of a case id; ``words`` are those behind the name. ProblemError names the part that is wrong."""

    @abstractmethod
    def spell(self, problem: Any) -> str:
        """The canonical case id: ``parse`` gives the problem back. Characters ``[a-z0-9_]`` only."""

    @abstractmethod
    def human(self, problem: Any) -> str:
        """The problem as people read it, in one line."""

    def reference(self, problem: Any, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """The plain definition: the cells of each result by its role, before they are rounded, from the operands as
        they are multiplied and what the epilogue reads, in the arrays' own type: int64, or f64. UsageError if there is
        neither a form nor a reference."""
        form = self.exactness.form(problem)
        if form is None:
            raise UsageError(f"{self} is not multilinear and states no reference: define Operation.reference")
        return {problem.result: applied(self.exactness.epilogue(problem), form.apply(inputs), inputs.get("d0"))}

    @cached_property
    def exactness(self) -> Exactness:
        """How its results are judged."""
        return self._group("exactness", Exactness)()

    @cached_property
    def space(self) -> Space:
        """The problems that there are."""
        return self._group("space", Space)(self)

    @cached_property
    def insight(self) -> Insight:
        """What is said of a result."""
        return self._group("insight", Insight)()

    def _group(self, name: str, usual: type[Group]) -> type[Group]:
        module, _, own = self.groups.get(name, "").partition(":")
        found: type[Group] = getattr(import_module(module), own) if module else usual
        return found
