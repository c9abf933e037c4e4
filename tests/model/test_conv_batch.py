"""Column arithmetic agrees with the definitions in bitgate.model, for any problem."""

from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.convolutions import Most, drawn_convolutions

from bitgate.model import DtypeSet
from bitgate.ops.convolution import ConvProblem, Pass, gemms_count, never_written_fraction, sub_gemms
from bitgate.ops.convolution.space.batch import Batch

LARGER = Most(filter=9, dilation=5, pad=5, rest=14, stride=7, images=40, channels=40)
DTYPES = st.sampled_from(["f32", "f16", "bf16_f32_bf16"]).map(DtypeSet.parse)


def problems(direction: Pass = Pass.BWD_DATA) -> st.SearchStrategy[ConvProblem]:
    return drawn_convolutions(DTYPES, (direction,), LARGER, (-1, 1, 2, 5))


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
