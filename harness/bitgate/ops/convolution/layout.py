"""Memory layouts of convolution tensors: a layout is the order of the letters, slowest first."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.model.gap import strides_of

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
    """Return the layout of images that problems have unless they state another."""
    return INPUT_LAYOUTS[ndim][0]


def default_weight_layout(ndim: int) -> str:
    """Return the layout of weights that case ids leave out."""
    return WEIGHT_LAYOUTS[ndim][0]


def output_layout(layout: str) -> str:
    """Return the output's layout: ``nhwgc`` -> ``nhwgk``."""
    return layout.replace("c", "k")


def input_letters(ndim: int) -> str:
    """Return the logical axes of x: ``gnchw``."""
    return "gnc" + _SPATIAL[ndim]


def weight_letters(ndim: int) -> str:
    """Return the logical axes of w: ``gkcyx``."""
    return "gkc" + _FILTER[ndim]


def output_letters(ndim: int) -> str:
    """Return the logical axes of y: ``gnkhw``."""
    return "gnk" + _SPATIAL[ndim]


def packed_strides(layout: str, letters: str, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides in elements, in the logical order of ``letters``, of a tensor laid out as ``layout``."""
    return strides(layout, letters, lengths, {})


def strides(layout: str, letters: str, lengths: tuple[int, ...], after_row: Mapping[str, int]) -> tuple[int, ...]:
    """Return strides as ``packed_strides`` does, with unused elements after each row of the axes of ``after_row``."""
    found = strides_of(layout, dict(zip(letters, lengths, strict=True)), after_row)
    return tuple(found[letter] for letter in letters)


def row_axis(layout: str) -> str:
    """Return the axis after whose rows ``gap`` adds elements.

    Of images with channels last it is the outermost of those that make up a pixel (NHWGC: G), else the innermost
    (NGCHW: W, GKYXC: C).
    """
    if layout[-1] in _SPATIAL[3] or layout.startswith("gk"):
        return layout[-1]
    return layout[1 + max(layout.index(letter) for letter in layout if letter in "ndhw")]
