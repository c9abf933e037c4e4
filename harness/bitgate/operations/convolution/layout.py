"""Memory layouts of convolution tensors: a layout is the order of the letters, slowest first."""

from __future__ import annotations

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


def default_layout(ndim: int) -> str:
    return INPUT_LAYOUTS[ndim][0]


def default_weight_layout(ndim: int) -> str:
    return WEIGHT_LAYOUTS[ndim][0]


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
