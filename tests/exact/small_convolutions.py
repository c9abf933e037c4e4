"""Small random convolutions, and data for them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from bitgate.exact.fill import make_inputs, plan_fill
from bitgate.exact.ordered import accumulator_of
from bitgate.operation import ELEMENTWISE, OPERAND_ELEMENTWISE, Accumulation, DtypeSet
from bitgate.operation.host_tensor import HostTensor
from bitgate.operations.convolution import CONVOLUTIONS, ConvProblem, Pass
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS

UNIFORM = ("f64", "f32", "f16", "bf16", "i8")
EVERY = (*UNIFORM, "f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")
MIXED = ("bf16_f32_bf16", "bf8ocp_f8ocp_f8ocp", "f8fnuz_bf8fnuz_f8fnuz", "f16_ctf8ocp", "f16_ctbf8fnuz", "f32_ctbf16")


@st.composite
def convolutions(draw, dtypes: tuple[str, ...] = UNIFORM, passes: tuple[Pass, ...] = CONVOLUTIONS) -> ConvProblem:
    """Of any pass, rank, layout and operation, with asymmetric pads, dilation and gaps; the filter always fits."""
    ndim = draw(st.integers(1, 3))

    def numbers(least: int, most: int) -> tuple[int, ...]:
        return draw(st.tuples(*[st.integers(least, most)] * ndim))

    filters, dilation, left, right = numbers(1, 3), numbers(1, 2), numbers(0, 2), numbers(0, 2)
    rest = numbers(0, 4)
    inputs = tuple(
        max(1, (f - 1) * d + 1 - p - q + r) for f, d, p, q, r in zip(filters, dilation, left, right, rest, strict=True)
    )
    types = draw(st.sampled_from(dtypes))
    direction = draw(st.sampled_from(passes))
    operand_ops = {
        f"{name}_op": ELEMENTWISE[draw(st.sampled_from(("pass", "pass", *OPERAND_ELEMENTWISE)))]
        for name, written_by in (("in", Pass.BWD_DATA), ("wei", Pass.BWD_WEIGHT))
        if direction is not written_by
    }
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(types),
        layout=draw(st.sampled_from(INPUT_LAYOUTS[ndim])),
        wei_layout=draw(st.sampled_from(WEIGHT_LAYOUTS[ndim])),
        g=draw(st.integers(1, 3)),
        n=draw(st.integers(1, 2)),
        k=draw(st.integers(1, 5)),
        c=draw(st.integers(1, 5)),
        filter=filters,
        input=inputs,
        stride=numbers(1, 3),
        dilation=dilation,
        left_pad=left,
        right_pad=right,
        op=draw(st.sampled_from(list(ELEMENTWISE.values()))),
        gap=draw(st.booleans()),
        **operand_ops,
    )


def inputs_of(problem: ConvProblem, fill: str = "exact", seed: int = 0) -> dict[str, HostTensor]:
    return make_inputs(problem, plan_fill(problem, Accumulation(accumulator_of(problem)), fill, seed))


def passing(problem: ConvProblem) -> ConvProblem:
    """The problem without any operation."""
    return replace(problem, **dict.fromkeys(("op", "in_op", "wei_op"), ELEMENTWISE["pass"]))
