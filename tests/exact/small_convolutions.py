"""Small random convolutions, and what they sum to by the formula alone: the yardstick of both references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
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


def terms(problem: ConvProblem) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """(output position, tap, input cell) of every product that the border leaves."""
    for position in product(*map(range, problem.output)):
        for tap in product(*map(range, problem.filter)):
            cell = tuple(
                o * s + f * d - p
                for o, s, f, d, p in zip(position, problem.stride, tap, problem.dilation, problem.left_pad, strict=True)
            )
            if all(0 <= at < size for at, size in zip(cell, problem.input, strict=True)):
                yield position, tap, cell


def cells(at: tuple[int, ...]) -> tuple[slice | int, ...]:
    """The index of all groups, images and channels at one place."""
    return (slice(None), slice(None), slice(None), *at)


def through_operation(problem: ConvProblem, operand: str, values: np.ndarray) -> np.ndarray:
    """An operand's numbers as its own operation leaves them, none of which needs a rounding."""
    op = problem.operation_of(operand)
    return {
        "pass": lambda: values,
        "scale": lambda: values * values.dtype.type(op.alpha),
        "relu": lambda: np.maximum(values, values.dtype.type(0)),
    }[op.name]()


def passing(problem: ConvProblem) -> ConvProblem:
    """The problem without any operation."""
    return replace(problem, **dict.fromkeys(("op", "in_op", "wei_op"), ELEMENTWISE["pass"]))


def exact_sums(problem: ConvProblem, inputs: dict[str, HostTensor]) -> np.ndarray:
    """The result before rounding as int64, from integer inputs."""
    whole = {name: host.logical.astype(np.float64).astype(np.int64) for name, host in inputs.items()}
    whole |= {name: through_operation(problem, name, whole[name]) for name in problem.operands}
    sums = np.zeros(problem.tensors[problem.result].lengths, np.int64)
    for position, tap, cell in terms(problem):
        x, w, y = (cells(at) for at in (cell, tap, position))
        if problem.direction is Pass.FWD:
            sums[y] += np.einsum("gnc,gkc->gnk", whole["in"][x], whole["wei"][w])
        elif problem.direction is Pass.BWD_DATA:
            sums[x] += np.einsum("gnk,gkc->gnc", whole["out"][y], whole["wei"][w])
        else:
            sums[w] += np.einsum("gnk,gnc->gkc", whole["out"][y], whole["in"][x])
    alpha, beta, d = int(problem.op.alpha), int(problem.op.beta), whole.get("d0", np.int64(0))
    after = {
        "pass": lambda v: v,
        "scale": lambda v: alpha * v,
        "bias": lambda v: v + d,
        "nd1": lambda v: v + d,
        "bilinear": lambda v: alpha * v + beta * d,
        "inplace": lambda v: alpha * v + beta * d,
        "relu": lambda v: np.maximum(v, 0),
    }
    return after[problem.op.name](sums)


def gaps(host: HostTensor) -> np.ndarray:
    """The bytes of a storage that belong to no cell."""
    free = HostTensor(host.tensor, np.zeros_like(host.storage))
    free.bits[...] = np.iinfo(free.bits.dtype).max
    return host.storage.view(np.uint8)[free.storage.view(np.uint8) == 0]
