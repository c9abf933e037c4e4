"""A heat map in characters: eight lines at most, from the same squares as the picture of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.report.views import ZERO, founding, view

from bitgate.results.record.view import PARTS
from bitgate.results.report.page.characters import COLUMNS, heat_map


def _dots(line: str) -> list[str]:
    """Return the four rows of dots of a line of Braille patterns."""
    bits = [(0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)]
    return ["".join("x" if (ord(one) - 0x2800) & bit else " " for one in line for bit in row) for row in bits]


def test_the_founding_bug_is_seen_as_dots() -> None:
    """Of nine sub-GEMMs one ran: its cells are the holes."""
    caption, *lines = heat_map(view(founding(set(range(1, 9))), "gnchw"))
    assert caption == "g 0, n 0 to 3: h 28 down, w 28 across; c 64 folded: zero 179968"
    dots = [row for line in lines for row in _dots(line)]
    assert len(lines) == 7
    assert dots == [
        "".join(" " if not wrong else "x" for wrong in row) for row in founding(set(range(1, 9)))[0, 0, 0] > 0
    ]


def test_a_small_result_is_letters() -> None:
    kinds = np.zeros((3, 5), np.uint8)
    for column, part in enumerate(PARTS):
        kinds[1, column] = PARTS.index(part) + 1
    assert heat_map(view(kinds, "mn")) == [
        "m 3 down, n 5 across: nan 1, zero 1, poison 1, other 1",
        ".....",
        "N0P#.",
        ".....",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", None, "no-such-encoding"])
def test_a_terminal_without_dots_gets_letters(encoding: str | None) -> None:
    kinds = np.zeros((40, 40), np.uint8)
    kinds[-1, -1] = ZERO
    caption, *lines = heat_map(view(kinds, "mn"), encoding)
    assert "a square is 8 x 1 cells" in caption
    assert lines == ["." * 40] * 4 + ["." * 39 + "0"]


@given(
    arrays.arrays(np.uint8, arrays.array_shapes(min_dims=1, max_dims=5, max_side=40), elements=st.integers(0, 4)),
    st.sampled_from(["utf-8", "ascii"]),
)
def test_any_result_takes_eight_short_lines(kinds: np.ndarray, encoding: str) -> None:
    if kinds.size > 20_000:
        kinds = kinds[:1]
    lines = heat_map(view(kinds, "gnchw"[: kinds.ndim]), encoding) if kinds.any() else []
    assert bool(lines) == bool(kinds.any())
    assert len(lines) <= 8
    assert all(len(line) <= COLUMNS for line in lines[1:])
    assert any(set(line) - {".", "\u2800"} for line in lines[1:]) == bool(lines)
    "".join(lines).encode(encoding)


@pytest.mark.parametrize("found", [{}, {"mask": 1}, {"axes": ["\x1b[31m"], "lengths": [3], "mask": {"split": 9}}])
def test_a_view_that_cannot_be_drawn_draws_nothing(found: dict[str, Any]) -> None:
    assert heat_map(found) == []
