"""A value that one element alone holds is traced to it, whatever the type and however large the tensor."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bitgate.numerics.bits import blocks
from bitgate.verify.diagnose import receptive_field as module
from bitgate.verify.diagnose.receptive_field import holders

TYPES = [np.float32, np.float64, np.float16, np.int8, np.int32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


def looked_up(tensor: np.ndarray, values: set[float]) -> dict[float, tuple[int, ...]]:
    """The same by looking at every element for every value."""
    found = {value: np.argwhere(tensor.astype(np.float64) == value) for value in values}
    return {value: tuple(places[0].tolist()) for value, places in found.items() if len(places) == 1}


@given(st.data())
def test_they_are_those_that_a_look_at_every_element_finds(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=4, max_side=6))
    tensor = data.draw(arrays.arrays(np.int8, shape)).astype(data.draw(st.sampled_from(TYPES)))
    values = {float(one) for one in tensor.ravel()[:9] if one != 0} | data.draw(st.sets(st.sampled_from([1.5, 7.0])))
    assert holders(tensor, values) == looked_up(tensor, values)


def test_a_pass_over_blocks_ends_once_each_value_was_seen_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = (1 + np.arange(100_000) % 251).reshape(100, 1000).astype(np.float16)
    seen: list[int] = []

    def few(shape: tuple[int, ...]):
        for block in blocks(shape, 1000):
            seen.append(block[0].start)
            yield block

    monkeypatch.setattr(module, "blocks", few)
    assert holders(tensor, {3.0, 17.0}) == {}
    assert seen == [0, 1], "a row has every value, four times or so"
    tensor[90, 7] = 400
    assert holders(tensor, {3.0, 400.0}) == {400.0: (90, 7)}


def test_a_value_that_the_type_does_not_have_is_nowhere() -> None:
    assert holders(np.array([1, 2], np.float16), {1.0001, float("nan"), float("inf"), 1e9}) == {}
