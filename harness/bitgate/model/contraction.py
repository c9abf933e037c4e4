"""Two operands multiplied and summed, as convolution and GEMM share it. Pure.

Each operand goes through an element-wise operation before it is multiplied, and the sums go through an epilogue.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

from bitgate.model.d_form import PLAIN, DForm
from bitgate.model.dtype import ROLES, Dtype, DtypeSet
from bitgate.model.elementwise import ELEMENTWISE, OPERAND_ELEMENTWISE, Elementwise
from bitgate.model.gap import Gaps, elements_after, fitting, strides_of
from bitgate.model.problem import ProblemError
from bitgate.model.tensor import Tensor

Same = TypeVar("Same", bound="Contraction")


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
    d_form: DForm = PLAIN
    """How D differs from the result, where the operation reads one."""
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
        return self.dtypes.multiplicand(operand)

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
        attributes |= {f"{role}_compute": dtype.name for role, dtype in self.dtypes.own}
        if self.split_k != 1:
            attributes["split_k"] = self.split_k
        return attributes

    @property
    def parts(self) -> int:
        """The number of GEMMs that a kernel may list of the problem, each in a separate launch."""
        return 1

    @property
    @abstractmethod
    def d_layouts(self) -> Mapping[str, str]:
        """The layouts that D may have: the axes in memory order by the name in case ids, the result's own first."""

    def d_tensor(
        self, result: Tensor, channel: int, bias_layout: str, strides: Callable[[str], Mapping[str, int]]
    ) -> Tensor:
        """Return d0 next to ``result``, in the form ``d_form``; in place it has the result's strides.

        ``strides`` gives them by letter for axes in memory order; broadcast axes are none of these, and have stride 0.
        For ``bias`` d0 holds one value for each index of axis 0 and axis ``channel``, in ``bias_layout``.
        """
        dtype = self.d_form.dtype or result.dtype
        if self.op.name == "bias":
            order = f"{self.result_letters[0]}{self.result_letters[channel]}"
            after_row = elements_after(self.gaps, self.tensor_name("d0"), order[-1], 0)
            of_values = strides_of(order, dict(zip(self.result_letters, result.lengths, strict=True)), after_row)
            broadcast = [0] * len(result.lengths)
            broadcast[0], broadcast[channel] = of_values[order[0]], of_values[order[1]]
            return Tensor("d0", dtype, bias_layout, result.lengths, tuple(broadcast))
        if self.op.in_place:
            return Tensor("d0", dtype, result.layout, result.lengths, result.strides)
        order = self._d_order
        found = strides("".join(letter for letter in order if letter not in self.d_form.broadcast))
        own = tuple(found.get(letter, 0) for letter in self.result_letters)
        return Tensor("d0", dtype, order, result.lengths, own)

    @property
    def _d_order(self) -> str:
        return self.d_layouts[self.d_form.layout] if self.d_form.layout else next(iter(self.d_layouts.values()))

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
        elif self.op.num_d:
            order = (letter for letter in self._d_order if letter not in self.d_form.broadcast)
            orders[self.tensor_name("d0")] = "".join(order)
        if self.op.in_place:
            del orders[self.tensor_name("d0")]  # it is in the result's buffer
        return orders

    def changed(self: Same, **changes: Any) -> Same:
        """Return the problem with other values, without the gaps and the form of D for which it then has no tensor or
        axis."""
        form = changes.pop("d_form", self.d_form)
        bare = replace(self, gaps=(), d_form=PLAIN, **changes).with_form(form)
        return replace(bare, gaps=fitting(self.gaps, bare.gap_orders)) if self.gaps else bare

    def with_form(self: Same, form: DForm) -> Same:
        """Return the problem with what its D can have of a form, without the gaps for which D then has no axis."""
        found = replace(self, gaps=(), d_form=PLAIN) if self.d_form != PLAIN or self.gaps else self
        for part in fields(form) if form != PLAIN else ():
            try:
                found = replace(found, d_form=replace(found.d_form, **{part.name: getattr(form, part.name)}))
            except ProblemError:
                continue
        return replace(found, gaps=fitting(self.gaps, found.gap_orders)) if self.gaps else found

    def settle_dtypes(self) -> None:
        """Spell the types of a frozen problem that is being made as case ids do. ProblemError for a compute type of the
        result."""
        if self.dtypes.own:
            try:
                object.__setattr__(self, "dtypes", self.dtypes.settled(self.result))
            except ValueError as error:
                raise ProblemError(str(error)) from None

    def settle_d_form(self) -> None:
        """Put the form of D of a frozen problem that is being made in the order of case ids. ProblemError for one that
        cannot be."""
        if self.d_form == PLAIN:
            return
        what = f"{self.op.name} reads none" if not self.op.num_d else "it is the result's buffer"
        if not self.op.num_d or self.op.in_place:
            raise ProblemError(f"{self.d_form.words[0]}: a form of D, and {what}")
        if self.op.name == "bias" and (self.d_form.layout or self.d_form.broadcast):
            raise ProblemError(f"{self.d_form.words[0]}: bias says how D lies; nd1 takes any layout and axes")
        names: Sequence[str] = list(self.d_layouts)
        own = self.dtypes.of(self.result)
        object.__setattr__(self, "d_form", self.d_form.settled(names, names[0], own, self.result_letters))

    def check_operations(self) -> None:
        """Raise ProblemError for an operation that an operand cannot go through, or a split-K that is no number."""
        self.op.plain.with_factors({name: getattr(self.op, name) for name in self.op.takes})
        for name, op in (("in", self.in_op), ("wei", self.wei_op)):
            if op.name == "pass":
                continue
            if op != op.plain:
                raise ProblemError(f"{name}_op: an operand's factors are {op.name}'s own")
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
