"""Two operands multiplied and summed, as convolution and GEMM share it. Pure.

Each operand goes through an element-wise operation before it is multiplied, and the sums go through an epilogue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

from bitgate.model.dtype import Dtype, DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise
from bitgate.model.gap import Gaps, elements_after, fitting
from bitgate.model.problem import ProblemError
from bitgate.model.tensor import Tensor

Same = TypeVar("Same", bound="Contraction")

ROLES = ("in", "wei", "out")
"""The roles of the two operands and the result, as in a forward pass. They are the salts of a case's data as well."""


@dataclass(frozen=True, kw_only=True)
class Contraction(ABC):
    """A problem ``result = op(sum of in_op(first) * wei_op(second), d0)``; the operation says which of ROLES is
    written.
    """

    dtypes: DtypeSet
    op: Elementwise = ELEMENTWISE["pass"]
    """The operation on the sums, whichever tensor they are written to."""
    in_op: Elementwise = ELEMENTWISE["pass"]
    """The operation on each element of ``in`` before it is multiplied, where ``in`` is read."""
    wei_op: Elementwise = ELEMENTWISE["pass"]
    """The operation on each element of ``wei``, likewise."""
    gap: bool = False
    """Strided tensors: GAP unused elements follow each row of every tensor."""
    split_k: int = 1
    """The number of slices of a sum; 1: not split; -1: the kernel chooses."""
    gaps: Gaps = ()
    """The gaps of single tensors and axes, in addition to ``gap``; in the order of case ids."""

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, one.name) for one in fields(self)))

    def __hash__(self) -> int:
        """Return a hash that is computed once: planning asks some hundred instances about a problem, and caches are
        keyed by it.
        """
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hash and the operation: another process has different ones."""
        return {name: value for name, value in vars(self).items() if name not in ("_hash", "operation")}

    @property
    @abstractmethod
    def result(self) -> str:
        """Name of the tensor that is written."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.result,)

    @cached_property
    @abstractmethod
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by role: ``in``, ``wei``, ``out``, then ``d0`` if the operation reads one."""

    @property
    def operands(self) -> tuple[str, str]:
        """Names of the two tensors that are multiplied."""
        first, second = (name for name in ROLES if name != self.result)
        return first, second

    def operation_of(self, operand: str) -> Elementwise:
        """Return the operation that an operand goes through before it is multiplied; dy passes as it is."""
        return {"in": self.in_op, "wei": self.wei_op}.get(operand, ELEMENTWISE["pass"])

    def multiplicand(self, operand: str) -> Dtype:
        """Return the type that an operand has when it is multiplied."""
        return self.dtypes.multiplicand(self.tensors[operand].dtype)

    @property
    def in_place(self) -> tuple[str, ...]:
        """d0, where the operation takes it from the result's own buffer."""
        return ("d0",) if self.op.in_place else ()

    @property
    def is_split(self) -> bool:
        return self.split_k != 1

    @property
    def bytes(self) -> int:
        """Each tensor moved once, without gaps."""
        return sum(tensor.moved_bytes for tensor in self.tensors.values())

    @property
    def product_attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        """The attributes that a kernel gets, by the names of kernels/include/bitgate/products.hpp.

        Defaults are left out, so that a kernel which does not know an attribute need not read it.
        """
        attributes: dict[str, int | float | str | tuple[int, ...]] = {}
        for begin, op in (("", self.op), ("in_", self.in_op), ("wei_", self.wei_op)):
            if op.name != "pass":
                attributes |= {f"{begin}op": "bilinear" if op.in_place else op.name, f"{begin}alpha": op.alpha}
                attributes[f"{begin}beta"] = op.beta
        if self.op.in_place:
            attributes["d_aliases_output"] = 1
        if self.dtypes.compute is not None:
            attributes["compute"] = self.dtypes.compute_dtype.name
        if self.split_k != 1:
            attributes["split_k"] = self.split_k
        return attributes

    @property
    def parts(self) -> int:
        """The number of GEMMs that a kernel may list of the problem, each in a separate launch."""
        return 1

    def d_tensor(self, result: Tensor, channel: int, layout: str, own: tuple[int, ...]) -> Tensor:
        """Return d0 next to ``result``.

        It is laid out like the result with the strides ``own``; in place it has the result's strides. For ``bias`` it
        holds one value for each index of axis 0 and axis ``channel``, in ``layout``, broadcast over the rest by stride
        0.
        """
        if self.op.name != "bias":
            strides = result.strides if self.op.in_place else own
            return Tensor("d0", result.dtype, result.layout, result.lengths, strides)
        row = self.result_letters[channel]
        broadcast = [0] * len(result.lengths)
        broadcast[channel] = 1
        broadcast[0] = result.lengths[channel] + elements_after(self.gaps, self.tensor_name("d0"), row, 0)[row]
        return Tensor("d0", result.dtype, layout, result.lengths, tuple(broadcast))

    def tensor_name(self, role: str) -> str:
        """Return the name of a tensor in case ids."""
        return role

    @property
    def gap_orders(self) -> dict[str, str]:
        """The tensors that may have separate gaps: the axes in memory order, by the tensor's name in case ids."""
        orders = {self.tensor_name(role): tensor.layout for role, tensor in self.tensors.items()}
        if self.op.name == "bias":
            broadcast = zip(self.result_letters, self.tensors["d0"].strides, strict=True)
            orders[self.tensor_name("d0")] = "".join(letter for letter, stride in broadcast if stride)
        if self.op.in_place:
            del orders[self.tensor_name("d0")]  # it is in the result's buffer
        return orders

    def changed(self: Same, **changes: Any) -> Same:
        """Return the problem with other values, without the gaps for which it then has no tensor or axis."""
        bare = replace(self, gaps=(), **changes)
        return replace(bare, gaps=fitting(self.gaps, bare.gap_orders)) if self.gaps else bare

    def check_operations(self) -> None:
        """Raise ProblemError for an operation that an operand cannot go through, or a split-K that is no number."""
        for name, op in (("in", self.in_op), ("wei", self.wei_op)):
            if op.name == "pass":
                continue
            if op.name not in OPERAND_ELEMENTWISE:
                raise ProblemError(f"{name}_op = {op.name}: an operand takes {', '.join(OPERAND_ELEMENTWISE)} or pass")
            if name == self.result:
                raise ProblemError(f"{name}_op = {op.name}: {self._called} writes '{name}'; its operation is op")
        if self.split_k != -1 and self.split_k < 1:
            raise ProblemError(f"split_k = {self.split_k}: give a positive number, or auto")

    @property
    @abstractmethod
    def result_letters(self) -> str:
        """One letter an axis of the result, in logical order."""

    @property
    @abstractmethod
    def _called(self) -> str:
        """The operation's name, for errors."""
