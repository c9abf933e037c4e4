"""Random convolutions for property tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from bitgate.model import ELEMENTWISE, OPERAND_ELEMENTWISE, Dtype, DtypeSet
from bitgate.model.dtype import ROLES
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS


@dataclass(frozen=True)
class Most:
    """The largest of each number. ``rest``: by how much the padded input may be larger than the filter."""

    filter: int
    dilation: int
    pad: int
    rest: int
    stride: int
    images: int
    channels: int


SUMMED = Most(filter=3, dilation=2, pad=2, rest=4, stride=3, images=2, channels=5)
"""Every product by name is soon done."""
COUNTED = Most(filter=5, dilation=3, pad=3, rest=9, stride=6, images=3, channels=20)
"""Positions alone are looked at."""


@st.composite
def with_own_types(draw, problems: st.SearchStrategy[ConvProblem], dtypes: st.SearchStrategy[Dtype]) -> ConvProblem:
    """Often, one operand or both are multiplied each in a separate type."""
    problem = draw(problems)
    own = tuple((role, draw(dtypes)) for role in ROLES if role in problem.operands and draw(st.booleans()))
    return replace(problem, dtypes=replace(problem.dtypes, own=own))


@st.composite
def drawn_convolutions(
    draw,
    dtypes: st.SearchStrategy[DtypeSet],
    passes: tuple[Pass, ...] = CONVOLUTIONS,
    most: Most = COUNTED,
    splits: tuple[int, ...] = (1,),
) -> ConvProblem:
    """Of any rank, layout and operation, with asymmetric pads, dilation and gaps; the filter always fits."""
    ndim = draw(st.integers(1, 3))

    def numbers(least: int, largest: int) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(least, largest)] * ndim))

    filters, dilation = numbers(1, most.filter), numbers(1, most.dilation)
    left, right, rest = numbers(0, most.pad), numbers(0, most.pad), numbers(0, most.rest)
    inputs = tuple(
        max(1, (f - 1) * d + 1 - p - q + r) for f, d, p, q, r in zip(filters, dilation, left, right, rest, strict=True)
    )
    direction = draw(st.sampled_from(passes))
    operand_ops: dict[str, Any] = {
        f"{name}_op": ELEMENTWISE[draw(st.sampled_from(("pass", "pass", *OPERAND_ELEMENTWISE)))]
        for name, written_by in (("in", Pass.BWD_DATA), ("wei", Pass.BWD_WEIGHT))
        if direction is not written_by
    }
    return ConvProblem(
        direction=direction,
        dtypes=draw(dtypes),
        layout=draw(st.sampled_from(INPUT_LAYOUTS[ndim])),
        wei_layout=draw(st.sampled_from(WEIGHT_LAYOUTS[ndim])),
        g=draw(st.integers(1, 3)),
        n=draw(st.integers(1, most.images)),
        k=draw(st.integers(1, most.channels)),
        c=draw(st.integers(1, most.channels)),
        filter=filters,
        input=inputs,
        stride=numbers(1, most.stride),
        dilation=dilation,
        left_pad=left,
        right_pad=right,
        op=draw(st.sampled_from(list(ELEMENTWISE.values()))),
        gap=draw(st.booleans()),
        split_k=draw(st.sampled_from(splits)),
        **operand_ops,
    )
