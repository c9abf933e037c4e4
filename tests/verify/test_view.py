"""A view shows which cells are wrong, whatever they look like, and gives them back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bitgate.model import DTYPES, parse_case_id
from bitgate.ops.convolution.rules.sub_gemms import owners
from bitgate.results.record.view import LIMIT, PARTS, ViewError, box_of, size, wrong_cells
from bitgate.verify.poison import poison_bits
from bitgate.verify.view import view_of

POISON = poison_bits(DTYPES["f32"])
KINDS = {"nan": 0x7FC00000, "zero": 0x80000000, "poison": POISON, "other": 0x40490FDB}


def view(kinds: np.ndarray, **more: Any) -> dict[str, Any]:
    """The view of a result whose cells are of these kinds: 0 right, else the place in PARTS, from 1."""
    bits = np.full(kinds.shape, 0x3F800000, np.uint32)
    for number, part in enumerate(PARTS, 1):
        bits[kinds == number] = KINDS[part]
    return view_of(bits.view(np.float32), kinds > 0, POISON, "abcdef"[: kinds.ndim], **more)


def drawn(stated: dict[str, Any]) -> np.ndarray:
    """From the record alone."""
    picture = np.zeros(stated["lengths"], np.int64)
    for number, part in enumerate(PARTS, 1):
        for cell in wrong_cells(stated, part):
            assert picture[cell] == 0
            picture[cell] = number
    return picture


@given(arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=5, max_side=5), elements=st.integers(0, 4)))
def test_what_is_drawn_from_the_record_is_what_was_wrong(kinds: np.ndarray) -> None:
    kinds.flat[-1] = 4  # nothing wrong, no view
    stated = json.loads(json.dumps(view(kinds)))
    assert (drawn(stated) == kinds).all()
    assert stated["parts"] == {part: n for i, part in enumerate(PARTS, 1) if (n := int((kinds == i).sum()))}
    assert "thinned" not in stated


@given(arrays.arrays(np.int64, (2, 3, 8, 9), elements=st.integers(0, 4)), st.integers(500, 900))
def test_what_does_not_fit_is_left_out_and_said(kinds: np.ndarray, limit: int) -> None:
    kinds.flat[-1] = 1
    stated = view(kinds, limit=limit)
    assert size(stated) <= limit
    box = tuple(slice(*span) for span in box_of(stated))
    assert (drawn(stated)[box] == kinds[box]).all()
    assert sum(stated["parts"].values()) == (kinds > 0).sum()
    assert kinds[box].any()
    assert ("thinned" in stated) == (kinds[box].size < kinds.size)


def test_noise_in_a_large_tensor_is_bounded() -> None:
    kinds = np.random.default_rng(0).integers(0, 5, (1, 4, 256, 96, 96))
    stated = view(kinds)
    assert size(stated) <= LIMIT == 65536
    assert stated["thinned"].startswith("the mask covers b 0")


def test_missing_sub_gemms_are_reported_cell_by_cell() -> None:
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1")
    right = np.ones(problem.tensors["in"].lengths, np.float16)
    result = np.where(np.isin(owners(problem).owner, [0, -1]), right, np.float16(0))
    stated = view_of(result, result != right, poison_bits(DTYPES["f16"]), problem.result_letters, (64, 64, 32))
    assert stated["lengths"] == [1, 4, 64, 28, 28]
    assert stated["tile"] == [64, 64, 32]
    assert set(stated["parts"]) == {"zero"}
    cells = set(wrong_cells(stated, "zero"))
    assert cells == {tuple(map(int, cell)) for cell in np.argwhere(result != right)}
    assert "thinned" not in stated


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"lengths": [2], "mask": {"split": 0, "zero": {"rows": [[0, 3]], "at": [0, 1]}}},
        {"lengths": [2, 2], "mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [0, 1]}}},
        {"lengths": [2, 2], "mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [1, 2]}}},
        {"lengths": [2, 2], "mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [0, 3]}}},
        {"lengths": ["x"], "mask": {"split": 0, "zero": {"rows": [], "at": []}}},
        {"lengths": [2], "mask": {"split": 0, "zero": {"rows": [[0, -1]], "at": [0, 1]}}},
    ],
)
def test_what_is_no_view_is_said_to_be_none(broken: dict[str, Any]) -> None:
    with pytest.raises(ViewError):
        list(wrong_cells(broken, "zero"))
