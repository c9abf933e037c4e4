"""A problem as the core sees it: tensors with roles, what is read and written, and how much work it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from bitgate.model.tensor import Tensor

if TYPE_CHECKING:
    from bitgate.model.operation import Operation


MAX_LENGTH = 2**31 - 1
"""Single lengths stay below 2^31 as in every library under test; products are Python integers and do not wrap."""


class ProblemError(ValueError):
    """An impossible or malformed problem; the message says which quantity and why."""


class Problem(Protocol):
    """Frozen and hashable: what a kernel is to compute, down to the strides. Each operation has its own type."""

    def __hash__(self) -> int: ...

    @property
    def operation(self) -> Operation:
        """The operation that is computed, with everything that only it knows."""

    @property
    def dtypes(self) -> Any:
        """The types, of which ``str()`` is the spelling in case ids."""

    @property
    def layout(self) -> str:
        """The layout by which kernels say what they take."""

    @property
    def ndim(self) -> int:
        """Spatial dimensions; 0 where there are none."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The tensors by role, in the order in which a kernel gets them."""

    @property
    def result(self) -> str:
        """The role of the tensor that is written; of several the first."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The roles that are written, ``result`` first: each is poisoned, guarded and compared."""

    @property
    def result_letters(self) -> str:
        """One letter an axis of the result, in logical order."""

    @property
    def in_place(self) -> tuple[str, ...]:
        """Roles of inputs that lie in the result's buffer: they start there and are overwritten."""

    @property
    def is_split(self) -> bool:
        """Do several partial sums meet in one cell of the result, by atomics or in a workspace (split-K)?"""

    @property
    def attributes(self) -> Mapping[str, int | float | str | tuple[int, ...]]:
        """The attributes that a kernel gets next to the tensors, by name; defaults may be left out."""

    @property
    def parts(self) -> int:
        """Parts that a kernel may list of it at most, and launch one by one."""

    @property
    def flops(self) -> int: ...

    @property
    def bytes(self) -> int:
        """Each tensor moved once, without gaps."""


def held_bytes(problem: Problem) -> int:
    """Return the bytes of all tensors as they lie in memory, gaps included; ``problem.bytes`` counts cells alone."""
    return sum(tensor.bytes for tensor in problem.tensors.values())


class PlainProblem(ABC):
    """A problem (``Problem`` says what each answer means) without spatial dimensions, of one part that nothing cuts."""

    @property
    @abstractmethod
    def tensors(self) -> Mapping[str, Tensor]: ...

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]: ...

    @property
    def result(self) -> str:
        return self.outputs[0]

    @property
    def result_letters(self) -> str:
        return self.tensors[self.result].layout

    @property
    def layout(self) -> str:
        return ""

    @property
    def ndim(self) -> int:
        return 0

    @property
    def in_place(self) -> tuple[str, ...]:
        return ()

    @property
    def is_split(self) -> bool:
        return False

    @property
    def parts(self) -> int:
        return 1

    @property
    def bytes(self) -> int:
        return sum(tensor.moved_bytes for tensor in self.tensors.values())
