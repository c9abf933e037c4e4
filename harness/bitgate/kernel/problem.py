"""What crosses the C ABI of a problem, whatever it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING, Any, Protocol

from bitgate.kernel.abi import Value

if TYPE_CHECKING:
    from bitgate.model import Tensor


class Access(IntFlag):
    """``enum bitgate_access``."""

    READ = 1
    WRITTEN = 2


class AbiProblem(Protocol):
    """Frozen; ``str(operation)`` is the operation's name."""

    def __hash__(self) -> int: ...

    @property
    def operation(self) -> Any: ...

    @property
    def tensors(self) -> Mapping[str, Tensor | None]:
        """By role, in the order in which a kernel gets them; None: an optional one that is absent."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The roles of the tensors that are written."""

    @property
    def attributes(self) -> Mapping[str, Value]:
        """By name; what is at its default may be left out."""

    @property
    def parts(self) -> int:
        """Parts that a kernel may list of it at most, and launch one by one."""


def accesses(problem: AbiProblem) -> Iterator[tuple[str, Tensor | None, Access]]:
    """Role, tensor if there is one, and what a kernel may do with it, in the ABI's order."""
    for role, tensor in problem.tensors.items():
        yield role, tensor, Access.WRITTEN if role in problem.outputs else Access.READ
