"""Memory for the cells of a tensor that is mostly padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.model import DTYPES, Tensor, parse_case_id
from bitgate.model.cell_places import offsets
from bitgate.model.memory_runs import MOST_RUNS, NARROW, SHARE, WIDE, joined, memory_runs


def test_matrices_that_lie_far_apart_are_runs() -> None:
    tensor = parse_case_id("gemm_f16_rcr_b3m16n16k8_gapcm2147483632").tensors["out"]
    runs = memory_runs(tensor)
    assert runs is not None
    assert [end - begin for begin, end in runs] == 3 * [16 * 16 * 2]
    assert runs[0][0] == 0
    assert runs[-1][1] == tensor.bytes > 2 * 2**32


@pytest.mark.parametrize(
    ("lengths", "strides"),
    [
        ((1 << 14, 1 << 14), (1 << 14, 1)),  # no gaps
        ((1 << 14, 1 << 14), (1 << 15, 1)),  # half of it
        ((1 << 20, 2), (1 << 10, 1)),  # narrow ones
        ((3, 2), (1 << 20, 1)),  # too little to gain
        ((MOST_RUNS + 1, 2), (1 << 20, 1)),
    ],
)
def test_other_tensors_have_all_their_memory(lengths: tuple[int, ...], strides: tuple[int, ...]) -> None:
    assert memory_runs(Tensor("x", DTYPES["f16"], "x", lengths, strides)) is None


@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 1, 3, 40, 1 << 14, 1 << 17, 1 << 29])), max_size=4),
    st.sampled_from(["i8", "f16", "f32"]),
)
def test_each_cell_is_in_a_run_and_runs_are_apart(axes: list[tuple[int, int]], dtype: str) -> None:
    lengths, strides = tuple(zip(*axes, strict=True)) if axes else ((), ())
    tensor = Tensor("x", DTYPES[dtype], "x", lengths, strides)
    runs = memory_runs(tensor)
    if runs is None:
        return
    begins, ends = np.array(runs).T
    cells = np.unique(offsets(lengths, strides)) * tensor.dtype.bytes
    owner = np.searchsorted(begins, cells, side="right") - 1
    assert (cells + tensor.dtype.bytes <= ends[owner]).all()
    assert (begins[1:] - ends[:-1] > NARROW).all()
    assert tensor.bytes >= max(WIDE, SHARE * int((ends - begins).sum()))


def test_stretches_that_meet_are_one() -> None:
    assert joined(np.array([[0, 10], [4, 6], [10, 12], [13, 14]])) == ((0, 12), (13, 14))
    assert joined(np.array([[0, 10], [12, 14]]), 2) == ((0, 14),)
