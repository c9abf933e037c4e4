"""Parts of an array are all of it, each cell once, however it lies in memory."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bitgate.numerics.bits import blocks, first_true, parts

SHAPES = arrays.array_shapes(min_dims=1, max_dims=5, max_side=7)


@given(SHAPES, st.integers(1, 60))
def test_blocks_are_runs_of_the_row_major_order(shape: tuple[int, ...], cells: int) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    found = [array[block] for block in blocks(shape, cells)]
    assert all(one.size <= cells for one in found)
    assert np.concatenate([one.ravel() for one in found]).tolist() == list(range(array.size))


@given(SHAPES, st.integers(1, 60), st.randoms(use_true_random=False))
def test_parts_of_arrays_belong_together_whatever_their_strides(shape, cells, random) -> None:
    order = random.sample(range(len(shape)), len(shape))
    stored = np.arange(np.prod(shape)).reshape([shape[axis] for axis in order])
    one = stored.transpose(np.argsort(order))  # lies in memory in another order than its axes
    other = np.ascontiguousarray(one)
    found = list(parts(one, other, cells=cells))
    assert all(np.array_equal(left, right) for left, right in found)
    assert np.concatenate([part.ravel() for part, _ in found]).tolist() == list(range(one.size)), "as memory has it"


@given(arrays.arrays(bool, SHAPES), st.integers(1, 5))
def test_the_first_cells_are_those_of_logical_order(mask: np.ndarray, limit: int) -> None:
    assert first_true(mask, limit) == [tuple(place) for place in np.argwhere(mask)[:limit].tolist()]
    assert first_true(mask.T, limit) == [tuple(place) for place in np.argwhere(mask.T)[:limit].tolist()]


def test_no_cells_are_no_blocks() -> None:
    assert list(blocks((0, 5))) == []
    assert list(blocks((5, 0))) == [(slice(0, 5),)]
    assert first_true(np.zeros((3, 4), bool), 2) == []
