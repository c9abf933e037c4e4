"""Memory layouts of convolution tensors: a layout is the order of the letters, slowest first."""

from __future__ import annotations

from math import prod

# The tensors by their role in the forward pass. A logical shape is (g, n|k, c|k, spatial...) whatever the layout.
INPUT_LAYOUTS: dict[int, tuple[str, ...]] = {
    1: ("nwgc", "gnwc", "ngcw"),
    2: ("nhwgc", "gnhwc", "ngchw"),
    3: ("ndhwgc", "gndhwc", "ngcdhw"),
}
WEIGHT_LAYOUTS: dict[int, tuple[str, ...]] = {
    1: ("gkxc", "gkcx"),
    2: ("gkyxc", "gkcyx"),
    3: ("gkzyxc", "gkczyx"),
}
_SPATIAL = {1: "w", 2: "hw", 3: "dhw"}
_FILTER = {1: "x", 2: "yx", 3: "zyx"}

GAP = 8
"""Elements that ``gap`` adds to the pitch of each tensor's fastest row: 16 bytes in f16, so vectors stay aligned."""


def output_layout(layout: str) -> str:
    """``nhwgc`` -> ``nhwgk``."""
    return layout.replace("c", "k")


def input_letters(ndim: int) -> str:
    return "gnc" + _SPATIAL[ndim]


def weight_letters(ndim: int) -> str:
    return "gkc" + _FILTER[ndim]


def output_letters(ndim: int) -> str:
    return "gnk" + _SPATIAL[ndim]


def packed_strides(layout: str, letters: str, lengths: tuple[int, ...], gap: int = 0) -> tuple[int, ...]:
    """Strides in elements, in the logical order of ``letters``, of a tensor laid out as ``layout``.

    ``gap`` widens the pitch of the row: the run of fastest letters that ends at a spatial one (NHWGC: G and C;
    NGCHW: W; weights: the last letter), so that every row is followed by cells that nobody may write.
    """
    length = dict(zip(letters, lengths, strict=True))
    row = _row_letters(layout)
    stride: dict[str, int] = {}
    pitch = 1
    for position, letter in enumerate(reversed(layout)):
        stride[letter] = pitch
        pitch *= length[letter]
        if position == len(row) - 1:
            pitch += gap
    return tuple(stride[letter] for letter in letters)


def _row_letters(layout: str) -> str:
    spatial = set("dhwzyx")
    if layout[-1] in spatial or layout.startswith("gk"):
        return layout[-1]
    row = ""
    for letter in reversed(layout):
        if letter in spatial or letter in "n":
            break
        row = letter + row
    return row


def element_space(lengths: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last cell, gaps included (not those behind the last cell); 0 if empty."""
    if prod(lengths) == 0:
        return 0
    return 1 + sum((length - 1) * stride for length, stride in zip(lengths, strides, strict=True))
