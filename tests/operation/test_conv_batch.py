"""Column arithmetic agrees with the definitions in bitgate.operation, for any problem."""

from math import prod

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bitgate.operation import ELEMENTWISE, OPERAND_ELEMENTWISE, DtypeSet, Elementwise, ProblemError
from bitgate.operations.convolution import ConvProblem, Pass, gemms_count, never_written_fraction, sub_gemms
from bitgate.operations.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.operations.convolution.space.batch import Batch


@st.composite
def problems(draw: st.DrawFn, direction: Pass = Pass.BWD_DATA) -> ConvProblem:
    ndim = draw(st.integers(1, 3))

    def axes(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=ndim, max_size=ndim)))

    def operand(*read_by: Pass) -> Elementwise:
        choices = ("pass", *OPERAND_ELEMENTWISE) if direction in read_by else ("pass",)
        return ELEMENTWISE[draw(st.sampled_from(choices))]

    try:
        return ConvProblem(
            direction=direction,
            dtypes=DtypeSet.parse(draw(st.sampled_from(["f32", "f16", "bf16_f32_bf16"]))),
            layout=draw(st.sampled_from(INPUT_LAYOUTS[ndim])),
            wei_layout=draw(st.sampled_from(WEIGHT_LAYOUTS[ndim])),
            g=draw(st.integers(1, 4)),
            n=draw(st.integers(1, 40)),
            k=draw(st.integers(1, 40)),
            c=draw(st.integers(1, 40)),
            filter=axes(1, 9),
            input=axes(1, 14),
            stride=axes(1, 7),
            dilation=axes(1, 5),
            left_pad=axes(0, 5),
            right_pad=axes(0, 5),
            op=ELEMENTWISE[draw(st.sampled_from(sorted(ELEMENTWISE)))],
            in_op=operand(Pass.FWD, Pass.BWD_WEIGHT),
            wei_op=operand(Pass.FWD, Pass.BWD_DATA),
            gap=draw(st.booleans()),
            split_k=draw(st.sampled_from([-1, 1, 2, 5])),
        )
    except ProblemError:
        assume(False)
        raise


@given(st.sampled_from([Pass.FWD, Pass.BWD_DATA]).flatmap(lambda p: st.lists(problems(p), min_size=1, max_size=6)))
def test_problems_come_back_from_their_columns(given_problems: list[ConvProblem]) -> None:
    batch = Batch.from_problems(given_problems)
    assert [batch.problem(row) for row in range(len(batch))] == given_problems


@given(problems())
@settings(max_examples=120)
def test_derived_quantities_are_those_of_the_decomposition(problem: ConvProblem) -> None:
    batch = Batch.from_problems([problem])
    gemms = sub_gemms(problem)
    m, n, least, most = (int(values[0]) for values in batch.gemm)
    assert batch.possible[0]
    assert tuple(batch.output[0, 3 - problem.ndim :]) == problem.output
    assert batch.gemms_count[0] == gemms_count(problem) == len(gemms)
    assert {gemm.m for gemm in gemms} == {m}
    assert {gemm.n for gemm in gemms} == {n}
    assert (min(gemm.k for gemm in gemms), max(gemm.k for gemm in gemms)) == (least, most)


@given(problems())
@settings(max_examples=120)
def test_reached_cells_are_counted_as_by_enumeration(problem: ConvProblem) -> None:
    batch = Batch.from_problems([problem])
    share = prod(batch.reached[0].tolist()) / prod(problem.input)
    assert np.isclose(1 - share, never_written_fraction(problem))


@given(problems(Pass.BWD_WEIGHT))
def test_a_window_larger_than_the_padded_image_is_not_possible(problem: ConvProblem) -> None:
    batch = Batch.from_problems([problem])
    padded = batch.input + batch.left_pad + batch.right_pad
    assert batch.possible[0]
    assert not batch.with_columns(filter=padded + 1, dilation=batch.dilation).possible[0]
    assert batch.gemms_count[0] == 1
