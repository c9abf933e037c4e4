"""Random problems for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from bitgate.operation import DTYPES, ELEMENTWISE, OPERAND_ELEMENTWISE, Dtype, DtypeSet
from bitgate.operations.convolution import CONVOLUTIONS, ConvProblem, Pass
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS

_DTYPES = st.sampled_from([dtype for dtype in DTYPES.values() if dtype.name != "i32"])


@st.composite
def dtype_sets(draw) -> DtypeSet:
    one: Dtype = draw(_DTYPES)
    types = draw(st.sampled_from([(one, one, one), (one, draw(_DTYPES), draw(_DTYPES))]))
    return DtypeSet(*types, draw(st.sampled_from([None, draw(_DTYPES)])))


@st.composite
def problems(draw, passes: tuple[Pass, ...] = CONVOLUTIONS, largest: int = 9) -> ConvProblem:
    """Small problems of every kind; the input is made large enough for the filter."""
    ndim = draw(st.integers(1, 3))

    def numbers(least: int, most: int) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(least, most)] * ndim))

    filters, dilation = numbers(1, 5), numbers(1, 3)
    left, right = numbers(0, 3), numbers(0, 3)
    rest = numbers(0, largest)
    direction = draw(st.sampled_from(passes))
    operand_ops = {
        f"{name}_op": ELEMENTWISE[draw(st.sampled_from(("pass", *OPERAND_ELEMENTWISE)))]
        for name, written_by in (("in", Pass.BWD_DATA), ("wei", Pass.BWD_WEIGHT))
        if direction is not written_by
    }
    inputs = tuple(
        max(1, (f - 1) * d + 1 - p - q + r) for f, d, p, q, r in zip(filters, dilation, left, right, rest, strict=True)
    )
    return ConvProblem(
        direction=direction,
        dtypes=draw(dtype_sets()),
        layout=draw(st.sampled_from(INPUT_LAYOUTS[ndim])),
        wei_layout=draw(st.sampled_from(WEIGHT_LAYOUTS[ndim])),
        g=draw(st.integers(1, 3)),
        n=draw(st.integers(1, 3)),
        k=draw(st.integers(1, 20)),
        c=draw(st.integers(1, 20)),
        filter=filters,
        input=inputs,
        stride=numbers(1, 6),
        dilation=dilation,
        left_pad=left,
        right_pad=right,
        op=draw(st.sampled_from(list(ELEMENTWISE.values()))),
        gap=draw(st.booleans()),
        split_k=draw(st.sampled_from([1, 1, 2, 4, -1])),
        **operand_ops,
    )
