"""A problem of an operation that states its sizes and tensors, and a tensor as it is stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from bitgate.model.dtype import Dtype, TensorTypes
from bitgate.model.gap import Gaps, elements_after, settle_gaps, strides_of
from bitgate.model.problem import PlainProblem, ProblemError
from bitgate.model.registry import parse_case_id
from bitgate.model.sized.schema import CHOICE, FLAG, LENGTH
from bitgate.model.tensor import GAP, Tensor

if TYPE_CHECKING:
    from bitgate.model.sized.operation import Sized


@dataclass(frozen=True)
class StatedTensor:
    """A tensor as an operation states it: role, named axes with their lengths, read or written.

    ``axes`` gives lengths by one-letter name, the slowest first. ``dtype`` names a type that is always the same; empty:
    the problem's types say it. ``order`` lists the axes in memory order, the slowest first; empty: as they are named.
    """

    role: str
    axes: Mapping[str, int]
    is_written: bool = False
    dtype: str = ""
    order: str = ""

    @property
    def name(self) -> str:
        """The name in case ids."""
        return self.role.replace("_", "")

    @property
    def in_memory(self) -> str:
        """The axes as they lie, the slowest first."""
        return self.order or "".join(self.axes)

    def laid_out(self, dtype: Dtype, gap: bool, gaps: Gaps = ()) -> Tensor:
        """Return the tensor with its ``gaps``; ``gap`` adds GAP elements after each row of the fastest axis."""
        order = self.in_memory
        strides = strides_of(order, self.axes, elements_after(gaps, self.name, order[-1:], GAP if gap else 0))
        lengths = tuple(self.axes.values())
        return Tensor(self.role, dtype, "".join(self.axes), lengths, tuple(strides[name] for name in self.axes))


def read(role: str, *, dtype: str = "", order: str = "", **axes: int) -> StatedTensor:
    """Return a tensor that the kernel reads: ``read("x", r=sizes.r, c=sizes.c)``. Its role is the salt of its data."""
    return StatedTensor(role, axes, dtype=dtype, order=order)


def written(role: str, *, dtype: str = "", order: str = "", **axes: int) -> StatedTensor:
    """Return a tensor that the kernel writes."""
    return StatedTensor(role, axes, is_written=True, dtype=dtype, order=order)


@dataclass(frozen=True)
class SizedProblem(PlainProblem):
    """A problem of a sized operation; ``sizes`` is an instance of the operation's dataclass.

    ProblemError says which size is wrong, or what the operation says against them all.
    """

    operation: Sized
    dtypes: TensorTypes
    sizes: Any
    gap: bool = False
    gaps: Gaps = ()

    def __post_init__(self) -> None:
        if not isinstance(self.dtypes, TensorTypes):  # callers that know three tensors pass a DtypeSet
            object.__setattr__(self, "dtypes", TensorTypes.parse(str(self.dtypes)))
        self.operation.schema.check(self.sizes)
        if said := self.operation.check(self.sizes):
            raise ProblemError(said)
        settle_gaps(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the case id: another process has the same operation by name, not the same object."""
        return parse_case_id, (self.operation.spell(self),)

    @cached_property
    def stated(self) -> tuple[StatedTensor, ...]:
        """The tensors as the operation states them."""
        return self.operation.stated_tensors(self.sizes)

    @property
    def gap_orders(self) -> dict[str, str]:
        return {one.name: one.in_memory for one in self.stated}

    @cached_property
    def untyped(self) -> tuple[str, ...]:
        """The roles of tensors whose type the problem says, in order."""
        return tuple(one.role for one in self.stated if not one.dtype)

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """ProblemError unless there is one type, or one for each tensor that states none."""
        free = self.untyped
        if len(self.dtypes.names) not in (1, len(free)):
            raise ProblemError(f"types {self.dtypes}: give one, or {len(free)} for {', '.join(free)}")
        own = {role: self.dtypes.of(place) for place, role in enumerate(free)}
        types = {one.role: own.get(one.role) or TensorTypes.parse(one.dtype).of(0) for one in self.stated}
        return {one.role: one.laid_out(types[one.role], self.gap, self.gaps) for one in self.stated}

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(one.role for one in self.stated if one.is_written)

    @cached_property
    def attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        """The attributes that a kernel cannot read off the tensors' lengths.

        They are flags that are true as 1, choices that are not the first as words, and lengths whose name no axis has,
        but for silent ones that have their default.
        """
        schema, silent = self.operation.schema, self.operation.silent
        axes = {name for one in self.stated for name in one.axes}
        values = schema.plain(self.sizes)
        attributes: dict[str, int | float | str | tuple[int, ...]] = {
            size.name: values[size.name]
            for size in schema.of_kind(LENGTH)
            if size.name not in axes and not (size.name in silent and values[size.name] == size.default)
        }
        attributes |= {size.name: 1 for size in schema.of_kind(FLAG) if values[size.name]}
        chosen = {size.name: (values[size.name], size.words[0]) for size in schema.of_kind(CHOICE)}
        return attributes | {name: word for name, (word, first) in chosen.items() if word != first}

    @cached_property
    def flops(self) -> int:
        """Two for each point of all axes together, of a product of its operands what it takes, or as stated."""
        stated = self.operation.points(self.sizes)
        if stated is not None:
            return 2 * stated
        lengths = {name: length for one in self.stated for name, length in one.axes.items()}
        return 2 * prod(lengths.values())
