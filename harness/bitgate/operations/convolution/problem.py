"""A convolution problem: the one noun that tables, kernels, references and reports share."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from math import prod
from typing import Any

from bitgate.operation import (
    ELEMENTWISE,
    GAP,
    MAX_LENGTH,
    OPERAND_ELEMENTWISE,
    Dtype,
    DtypeSet,
    Elementwise,
    Operation,
    ProblemError,
    Tensor,
    operation_called,
)
from bitgate.operations.convolution.layout import (
    INPUT_LAYOUTS,
    WEIGHT_LAYOUTS,
    input_letters,
    output_layout,
    output_letters,
    packed_strides,
    weight_letters,
)


class Pass(str, Enum):
    """The three passes of a convolution layer, each an operation of its own; a pass and its name are one key."""

    FWD = "fwd"
    BWD_DATA = "bwd_data"
    BWD_WEIGHT = "bwd_weight"

    __hash__ = str.__hash__

    @property
    def code(self) -> int:
        return list(Pass).index(self)

    def __str__(self) -> str:
        return self.value


CONVOLUTIONS = tuple(Pass)


@dataclass(frozen=True)
class ConvProblem:
    """A grouped convolution in 1 to 3 dimensions. K and C are per group.

    ``left_pad`` and ``right_pad`` are counted in input cells. Index relation of all passes, per axis:
    i = o * stride + f * dilation - left_pad. Raises ProblemError if no such problem can exist.
    """

    direction: Pass
    dtypes: DtypeSet
    layout: str
    wei_layout: str
    g: int
    n: int
    k: int
    c: int
    filter: tuple[int, ...]
    input: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    left_pad: tuple[int, ...]
    right_pad: tuple[int, ...]
    op: Elementwise = field(default=ELEMENTWISE["pass"])
    gap: bool = False
    split_k: int = 1
    """1: not split; -1: the kernel chooses."""
    in_op: Elementwise = field(default=ELEMENTWISE["pass"])
    """What each element of ``in`` goes through before it is multiplied, where the pass reads it."""
    wei_op: Elementwise = field(default=ELEMENTWISE["pass"])
    """The same for ``wei``. A result's own operation is ``op``, whichever tensor it is."""

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, one.name) for one in fields(self)))

    def __hash__(self) -> int:
        """Counted once: planning asks some hundred instances about a problem, and what they share is kept by it."""
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Another process has other hashes."""
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @property
    def operation(self) -> Operation:
        """What a kernel has to offer to take the problem; ``direction`` is how its maths goes."""
        return operation_called(self.direction.value)

    @property
    def ndim(self) -> int:
        return len(self.input)

    @cached_property
    def output(self) -> tuple[int, ...]:
        """Spatial output lengths."""
        return tuple(
            (i + p + q - ((f - 1) * d + 1)) // s + 1
            for i, f, s, d, p, q in zip(
                self.input,
                self.filter,
                self.stride,
                self.dilation,
                self.left_pad,
                self.right_pad,
                strict=True,
            )
        )

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """``in``, ``wei``, ``out`` by their role in the forward pass, then ``d0`` if the operation reads one."""
        gap = GAP if self.gap else 0
        spec = {
            "in": (
                self.dtypes.inp,
                self.layout,
                input_letters(self.ndim),
                (self.g, self.n, self.c, *self.input),
            ),
            "wei": (
                self.dtypes.wei,
                self.wei_layout,
                weight_letters(self.ndim),
                (self.g, self.k, self.c, *self.filter),
            ),
            "out": (
                self.dtypes.out,
                output_layout(self.layout),
                output_letters(self.ndim),
                (self.g, self.n, self.k, *self.output),
            ),
        }
        tensors = {
            name: Tensor(name, dtype, layout, lengths, packed_strides(layout, letters, lengths, gap))
            for name, (dtype, layout, letters, lengths) in spec.items()
        }
        if self.op.num_d:
            tensors["d0"] = self._d_tensor(tensors[self.result])
        return tensors

    @property
    def attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        """What a kernel is told beside the tensors, by the names of kernels/include/bitgate/conv.hpp."""
        spatial = {name: getattr(self, name) for name in ("stride", "dilation", "left_pad", "right_pad")}
        return {**spatial, **self._product_attributes()}

    def _product_attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        """Those of products.hpp that are not at their default: who does not know them need not."""
        told: dict[str, int | float | str | tuple[int, ...]] = {}
        for begin, op in (("", self.op), ("in_", self.in_op), ("wei_", self.wei_op)):
            if op.name != "pass":
                told |= {f"{begin}op": "bilinear" if op.in_place else op.name, f"{begin}alpha": op.alpha}
                told[f"{begin}beta"] = op.beta
        if self.op.in_place:
            told["d_aliases_output"] = 1
        if self.dtypes.compute is not None:
            told["compute"] = self.dtypes.compute_dtype.name
        if self.split_k != 1:
            told["split_k"] = self.split_k
        return told

    @property
    def parts(self) -> int:
        """Sub-GEMMs that a kernel may list of it, each in a launch of its own."""
        from bitgate.operations.convolution import gemms_count

        return gemms_count(self) if self.direction is Pass.BWD_DATA else 1

    def _d_tensor(self, result: Tensor) -> Tensor:
        if self.op.name != "bias":
            return Tensor("d0", result.dtype, result.layout, result.lengths, result.strides)
        # One value for each channel of the result: (g, c) for dx, (g, k) for y; broadcast over the rest by stride 0.
        channel = 1 if self.direction is Pass.BWD_WEIGHT else 2
        strides = [0] * len(result.lengths)
        strides[0], strides[channel] = result.lengths[channel], 1
        return Tensor(
            "d0",
            result.dtype,
            "g" + ("c" if self.direction is Pass.BWD_DATA else "k"),
            result.lengths,
            tuple(strides),
        )

    @property
    def result(self) -> str:
        """Name of the tensor that the pass writes."""
        return {Pass.FWD: "out", Pass.BWD_DATA: "in", Pass.BWD_WEIGHT: "wei"}[self.direction]

    @property
    def result_letters(self) -> str:
        """One letter an axis of the result, in logical order: ``gnchw``, ``gkcyx``, ``gnkhw``."""
        letters = {"in": input_letters, "wei": weight_letters, "out": output_letters}[self.result]
        return letters(self.ndim)

    @property
    def operands(self) -> tuple[str, str]:
        """Names of the two tensors that the pass multiplies."""
        first, second = (name for name in ("in", "wei", "out") if name != self.result)
        return first, second

    def operation_of(self, operand: str) -> Elementwise:
        """What an operand goes through before it is multiplied; dy passes as it is."""
        return {"in": self.in_op, "wei": self.wei_op}.get(operand, ELEMENTWISE["pass"])

    def multiplicand(self, operand: str) -> Dtype:
        """The type that an operand has when it is multiplied."""
        return self.dtypes.multiplicand(self.tensors[operand].dtype)

    @property
    def reduction(self) -> int:
        """Largest number of products that one result cell can sum."""
        taps = prod(self.filter)
        return {
            Pass.FWD: self.c * taps,
            Pass.BWD_DATA: self.k * taps,
            Pass.BWD_WEIGHT: self.n * prod(self.output),
        }[self.direction]

    @property
    def flops(self) -> int:
        """Dense count of the field, padding taps included, the same in all passes: 2 G N K C prod(O) prod(F)."""
        return 2 * self.g * self.n * self.k * self.c * prod(self.output) * prod(self.filter)

    @property
    def bytes(self) -> int:
        """Each tensor moved once, without gaps."""
        return sum(t.elements * t.dtype.bytes for t in self.tensors.values())

    @property
    def in_place(self) -> tuple[str, ...]:
        """d0, where the operation takes it from the result's own buffer."""
        return ("d0",) if self.op.in_place else ()

    @property
    def strided(self) -> bool:
        return any(s > 1 for s in self.stride)


def _check(p: ConvProblem) -> None:
    ndim = len(p.input)
    if ndim not in (1, 2, 3):
        raise ProblemError(f"{ndim} spatial dimensions: 1 to 3 are possible")
    spatial = {
        "filter": (p.filter, 1),
        "input": (p.input, 1),
        "stride": (p.stride, 1),
        "dilation": (p.dilation, 1),
        "left pad": (p.left_pad, 0),
        "right pad": (p.right_pad, 0),
    }
    for name, (values, least) in spatial.items():
        if len(values) != ndim:
            raise ProblemError(f"{name} has {len(values)} values, the input has {ndim} dimensions")
        for axis, value in enumerate(values):
            if not least <= value <= MAX_LENGTH:
                raise ProblemError(f"{name}[{axis}] = {value} is outside {least}..{MAX_LENGTH}")
    for name, value in (("g", p.g), ("n", p.n), ("k", p.k), ("c", p.c)):
        if not 1 <= value <= MAX_LENGTH:
            raise ProblemError(f"{name} = {value} is outside 1..{MAX_LENGTH}")
    for axis in range(ndim):
        window = (p.filter[axis] - 1) * p.dilation[axis] + 1
        padded = p.input[axis] + p.left_pad[axis] + p.right_pad[axis]
        if window > padded:
            raise ProblemError(
                f"axis {axis}: the dilated filter covers {window} cells, the padded input has {padded}: no output cell"
            )
    if p.layout not in INPUT_LAYOUTS[ndim]:
        raise ProblemError(f"layout '{p.layout}' is not one of {', '.join(INPUT_LAYOUTS[ndim])} ({ndim}D)")
    if p.wei_layout not in WEIGHT_LAYOUTS[ndim]:
        raise ProblemError(f"weight layout '{p.wei_layout}' is not one of {', '.join(WEIGHT_LAYOUTS[ndim])} ({ndim}D)")
    for name, op in (("in", p.in_op), ("wei", p.wei_op)):
        if op.name == "pass":
            continue
        if op.name not in OPERAND_ELEMENTWISE:
            raise ProblemError(f"{name}_op = {op.name}: an operand takes {', '.join(OPERAND_ELEMENTWISE)} or pass")
        if name == p.result:
            raise ProblemError(f"{name}_op = {op.name}: {p.direction} writes '{name}'; its operation is op")
    if p.split_k != -1 and p.split_k < 1:
        raise ProblemError(f"split_k = {p.split_k}: give a positive number, or auto")
