"""A convolution problem: the one noun that tables, kernels, references and reports share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from math import gcd, prod

from bitgate.model import GAP, MAX_LENGTH, Operation, ProblemError, Tensor, operation_called
from bitgate.model.contraction import Contraction
from bitgate.model.gap import elements_after, settle_gaps, strides_of
from bitgate.ops.convolution.layout import (
    INPUT_LAYOUTS,
    WEIGHT_LAYOUTS,
    input_letters,
    output_layout,
    output_letters,
    row_axis,
    strides,
    weight_letters,
)


class Pass(str, Enum):
    """The three passes of a convolution layer, each a separate operation; a pass and its name are one key."""

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
class ConvProblem(Contraction):
    """A grouped convolution in 1 to 3 dimensions. K and C are per group.

    ``left_pad`` and ``right_pad`` are counted in input cells. Index relation of all passes, per axis:
    i = o * stride + f * dilation - left_pad. Raises ProblemError if no such problem can exist.
    """

    direction: Pass
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

    def __post_init__(self) -> None:
        _check(self)
        self.settle_dtypes()
        self.settle_d_form()
        settle_gaps(self)

    __hash__ = Contraction.__hash__

    @cached_property
    def operation(self) -> Operation:
        """The operation that a kernel has to offer to take the problem; ``direction`` selects its maths."""
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
        """The tensors ``in``, ``wei``, ``out`` by their role in the forward pass, then ``d0`` if the operation reads
        one.
        """
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
            name: Tensor(name, dtype, layout, lengths, strides(layout, letters, lengths, self._after_row(name, layout)))
            for name, (dtype, layout, letters, lengths) in spec.items()
        }
        if self.op.num_d:
            # Bias has one value for each channel of the result: (g, c) for dx, (g, k) for y and dw.
            channel = 1 if self.direction is Pass.BWD_WEIGHT else 2
            layout = "gc" if self.direction is Pass.BWD_DATA else "gk"
            _, _, letters, lengths = spec[self.result]
            after_row = self._after_row("d0", self._d_order)
            sizes = dict(zip(letters, lengths, strict=True))
            own = partial(strides_of, lengths=sizes, after_row=after_row)
            tensors["d0"] = self.d_tensor(tensors[self.result], channel, layout, own)
        return tensors

    @property
    def d_layouts(self) -> Mapping[str, str]:
        own, every = self.layout, INPUT_LAYOUTS[self.ndim]
        if self.direction is Pass.FWD:
            own, every = output_layout(own), tuple(map(output_layout, every))
        elif self.direction is Pass.BWD_WEIGHT:
            own, every = self.wei_layout, WEIGHT_LAYOUTS[self.ndim]
        return {name: name for name in (own, *every)}

    def _after_row(self, role: str, layout: str) -> dict[str, int]:
        """Return unused elements after each row of an axis of a tensor."""
        return elements_after(self.gaps, role, row_axis(layout), GAP if self.gap else 0)

    @property
    def attributes(self) -> dict[str, int | float | str | tuple[int, ...]]:
        """The attributes that a kernel gets next to the tensors, by the names of kernels/include/bitgate/conv.hpp."""
        spatial = {name: getattr(self, name) for name in ("stride", "dilation", "left_pad", "right_pad")}
        return {**spatial, **self.product_attributes}

    def tildes(self, axis: int) -> int:
        """Return the number of residue classes of one axis, empty ones included: stride / gcd(stride, dilation)."""
        return self.stride[axis] // gcd(self.stride[axis], self.dilation[axis])

    @cached_property
    def gemms_count(self) -> int:
        """The sub-GEMMs of bwd_data: prod over axes of min(F, stride / gcd(stride, dilation)); 1 for other passes."""
        if self.direction is not Pass.BWD_DATA:
            return 1
        return prod(min(self.filter[axis], self.tildes(axis)) for axis in range(self.ndim))

    @property
    def parts(self) -> int:
        """The number of sub-GEMMs that a kernel may list of it, each in a separate launch."""
        return self.gemms_count

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
    def strided(self) -> bool:
        return any(s > 1 for s in self.stride)

    @property
    def _called(self) -> str:
        return self.direction.value


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
    p.check_operations()
