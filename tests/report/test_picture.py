"""Pictures of wrong cells say where the wrong cells are, whatever the operation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.report.views import FOUNDING, OTHER, founding, squares, view

from bitgate.model import parse_case_id
from bitgate.ops.convolution.rules.sub_gemms import owners
from bitgate.results.record.view import ViewError
from bitgate.results.report.page.picture import BYTES, Picture, picture_of
from bitgate.results.report.page.plane import roles_of
from bitgate.results.report.page.sub_gemms import sub_gemm_map
from bitgate.results.report.page.wrong_cells import read_view


def picture(kinds: np.ndarray, axes: str, case: str = "", tile: tuple[int, int, int] | None = None) -> Picture:
    found = picture_of(view(kinds, axes, tile), case)
    assert found
    return found


@pytest.mark.parametrize("missing", [set(range(1, 9)), {0}, {2, 5}])
def test_one_look_tells_which_sub_gemms_are_missing(missing: set[int]) -> None:
    drawn = picture(founding(missing), "gnchw", FOUNDING)
    assert drawn.sub_gemms
    assert squares(drawn.sub_gemms.svg, "zero") == {divmod(number, 3) for number in missing}
    assert drawn.sub_gemms.caption.startswith("9 sub-GEMMs, by (x + pad) mod 3 x 3: wrong ")
    (plane,) = drawn.planes  # all images look alike
    assert plane.caption == "g 0, n 0 to 3: h 28 down, w 28 across; c 64 folded"
    assert squares(plane.svg, "zero") == {(int(h), int(w)) for h, w in np.argwhere(founding(missing)[0, 0, 0])}
    assert 'class="period"' in plane.svg


@pytest.mark.parametrize(
    "case",
    [
        FOUNDING,
        "bwd_data_f32_nhwgc_g1n1k4c4_y1x1_h9x9_s2x2_d1x1_p0x0_q0x0",
        "bwd_data_f32_nhwgc_g2n1k4c4_y3x2_h10x7_s2x3_d2x1_p0x1_q1x0",
        "bwd_data_f32_nwgc_g1n2k4c4_y5_h17_s4_d2_p2_q1",
        "bwd_data_f32_ndhwgc_g1n1k2c2_y3x3x3_h7x6x5_s2x1x2_d1x3x1_p1x0x2_q0x1x1",
    ],
)
def test_sub_gemms_of_a_case_id_are_the_operations(case: str) -> None:
    expected = owners(parse_case_id(case))
    found = sub_gemm_map(case)
    if len(expected.gemms) == 1:
        assert found is None
    else:
        assert found
        assert found.count == len(expected.gemms)
        assert (found.owners() == expected.owner).all()


@pytest.mark.parametrize("case", ["fwd_f16_nhwgc_g1n1k1c1_y3x3_h9x9_s2x2_d1x1_p1x1_q1x1", "gemm_f32_rcr_b1m2n2k2", ""])
def test_other_cases_have_no_sub_gemms(case: str) -> None:
    assert sub_gemm_map(case) is None


def test_a_gemm_shows_rows_and_columns_on_its_tile_grid() -> None:
    kinds = np.zeros((2, 256, 320), np.int64)
    kinds[1, 64:128, 192:256] = OTHER
    (plane,) = picture(kinds, "bmn", tile=(64, 64, 32)).planes
    assert plane.caption == "b 1: m 256 down, n 320 across, a square is 8 x 8 cells"
    assert squares(plane.svg, "other") == {(y, x) for y in range(8, 16) for x in range(24, 32)}
    assert [path.count("M") for path in re.findall(r'class="tile" d="([^"]*)"', plane.svg)] == [3, 4]


def test_the_last_tile_of_images_shows_its_border() -> None:
    """Of 3 images with 100 pixels each the third tile of 128 rows begins at pixel 56 of the last image."""
    kinds = np.zeros((1, 3, 8, 10, 10), np.int64)
    kinds.reshape(3, 8, 100)[2, :, 56:] = OTHER
    (plane,) = picture(kinds, "gnkhw", tile=(128, 64, 32)).planes
    assert plane.caption.startswith("g 0, n 2: ")
    assert squares(plane.svg, "other") == {divmod(pixel, 10) for pixel in range(56, 100)}
    assert re.findall(r'class="tile" d="([^"]*)"', plane.svg) == ["M0 6h6v-1h4"]


def test_a_channel_tail_shows_on_the_line_of_channels() -> None:
    kinds = np.zeros((1, 2, 40, 8, 8), np.int64)
    kinds[:, :, 32:] = OTHER
    (line,) = picture(kinds, "gnkhw", tile=(64, 16, 32)).lines
    assert squares(line.svg, "other") == {(0, channel) for channel in range(32, 40)}
    assert line.caption == "along k, 40; tile 16"


@pytest.mark.parametrize(
    ("axes", "lengths", "roles"),
    [
        ("gnchw", (1, 4, 64, 28, 28), (3, 4, (2,), (0, 1))),
        ("gncdhw", (1, 4, 64, 5, 28, 28), (4, 5, (2,), (0, 1, 3))),
        ("gncw", (1, 4, 64, 28), (2, 3, (), (0, 1))),
        ("gkcyx", (1, 64, 32, 3, 3), (1, 2, (3, 4), (0,))),
        ("gnchw", (1, 4, 64, 1, 1), (None, 2, (3, 4), (0, 1))),
        ("bmn", (3, 64, 64), (1, 2, (), (0,))),
        ("oi", (300, 1), (None, 0, (1,), ())),
        ("r", (64,), (None, 0, (), ())),
        ("bhsd", (2, 8, 64, 32), (2, 3, (), (0, 1))),
    ],
)
def test_axes_take_their_roles(axes: str, lengths: tuple[int, ...], roles: tuple[object, ...]) -> None:
    found = roles_of(axes, lengths)
    assert (found.rows, found.columns, found.folded, found.apart) == roles


@given(arrays.arrays(np.int64, arrays.array_shapes(min_dims=1, max_dims=5, max_side=6), elements=st.integers(0, 4)))
def test_wrong_cells_are_read_back(kinds: np.ndarray) -> None:
    kinds.flat[-1] = OTHER
    found = read_view(view(kinds, "abcde"[: kinds.ndim]))
    assert found
    assert (found.kinds == kinds).all()
    assert picture_of(view(kinds, "abcde"[: kinds.ndim]), "")


def test_noise_in_a_large_result_stays_small() -> None:
    kinds = np.random.default_rng(0).integers(0, 5, (1, 4, 256, 96, 96))
    drawn = picture(kinds, "gnchw")
    assert drawn.size <= BYTES
    assert "the record holds the cells of" in " ".join(drawn.notes)


def test_a_case_id_of_a_huge_image_takes_no_memory() -> None:
    side = 1 << 20
    case = f"bwd_data_f16_nhwgc_g1n1k1c1_y3x3_h{side}x{side}_s3x3_d1x1_p1x1_q1x1"
    box = [[0, 1], [0, 1], [0, 1], [side - 3, side], [side - 3, side]]
    mask = {"split": 0, "zero": {"rows": [[0, 9]], "at": [0, 1]}}
    lengths = [1, 1, 1, side, side]
    drawn = picture_of({"axes": list("gnchw"), "lengths": lengths, "parts": {}, "mask": mask, "box": box}, case)
    assert drawn
    assert drawn.sub_gemms
    assert len(squares(drawn.sub_gemms.svg, "zero")) == 9


BASE: dict[str, Any] = {
    "axes": ["r", "c"],
    "lengths": [4, 4],
    "parts": {"zero": 1},
    "mask": {"split": 1, "zero": {"rows": [[], [0, 1]], "at": [0, 3, 1, 1]}},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"lengths": [10**9, 10**9]},
        {"lengths": [4]},
        {"lengths": [4, -4]},
        {"lengths": []},
        {"lengths": [4] * 60},
        {"axes": None},
        {"box": [[0, 9], [0, 4]]},
        {"box": [[2, 1], [0, 4]]},
        {"parts": 7},
        {"mask": {"split": 9}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 9]], "at": [0, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [[-1, 2]], "at": [0, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [[10**30, 1]], "at": [0, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [0, 10**12]}}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [3, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [-1, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 1]], "at": [0]}}},
        {"mask": {"split": 1, "zero": {"rows": [[0, 1]] * 99, "at": [0, 4]}}},
        {"mask": {"split": 1, "zero": {"rows": [["a", {}]], "at": [0, 4]}}},
        {"mask": [1]},
    ],
)
def test_a_view_that_is_none_draws_nothing(changes: dict[str, Any]) -> None:
    assert picture_of(BASE, "")
    with pytest.raises(ViewError):
        read_view(BASE | changes)
    assert picture_of(BASE | changes, "") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["split", "zero", "rows", "at"]), inner)
    ),
    max_leaves=12,
)
FIELDS = ["axes", "lengths", "tile", "parts", "mask", "box", "output"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_view_stops_a_page(changes: dict[str, Any]) -> None:
    for stated in (changes, BASE | changes):
        drawn = picture_of(stated, FOUNDING)
        assert drawn is None or drawn.planes
