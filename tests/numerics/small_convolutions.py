"""Small random convolutions, and data for them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.convolutions import SUMMED, drawn_convolutions, with_own_types
from tests.epilogues import exact_epilogues
from tests.gapped import gapped

from bitgate.model import DTYPES, ELEMENTWISE, Accumulation, DtypeSet, Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import Values
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.ordered import accumulator_of
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass

UNIFORM = ("f64", "f32", "f16", "bf16", "i8")
EVERY = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_operand)
MIXED = ("bf16_f32_bf16", "bf8ocp_f8ocp_f8ocp", "f8fnuz_bf8fnuz_f8fnuz", "f16_ctf8ocp", "f16_ctbf8fnuz", "f32_ctbf16")


def convolutions(
    dtypes: tuple[str, ...] = UNIFORM, passes: tuple[Pass, ...] = CONVOLUTIONS
) -> st.SearchStrategy[ConvProblem]:
    """Convolutions of which every product can be looked at."""
    drawn = drawn_convolutions(st.sampled_from(dtypes).map(DtypeSet.parse), passes, SUMMED)
    return gapped(exact_epilogues(drawn))


def of_own_types(dtypes: tuple[str, ...], own: tuple[str, ...]) -> st.SearchStrategy[ConvProblem]:
    """As above, of which operands are multiplied in one of the types ``own`` each."""
    drawn = drawn_convolutions(st.sampled_from(dtypes).map(DtypeSet.parse), CONVOLUTIONS, SUMMED)
    return gapped(exact_epilogues(with_own_types(drawn, st.sampled_from(own).map(DTYPES.__getitem__))))


def inputs_of(problem: Problem, fill: str = "exact", seed: int = 0) -> dict[str, HostTensor]:
    return make_inputs(problem, plan_fill(problem, Accumulation(accumulator_of(problem)), fill, seed))


def passing(problem: ConvProblem) -> ConvProblem:
    """The problem without any operation."""
    return problem.changed(**dict.fromkeys(("op", "in_op", "wei_op"), ELEMENTWISE["pass"]))


def stored_values(inputs: dict[str, HostTensor]) -> Values:
    """What a checksum asks for: operands that lie in memory."""

    def values(name: str, index: NDArray[np.uint64]) -> np.ndarray:
        at = np.unravel_index(index.astype(np.int64), inputs[name].tensor.lengths)
        return inputs[name].logical[at].astype(np.int64)

    return values
