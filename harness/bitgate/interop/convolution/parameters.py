"""CK's list of a convolution's parameters, as its command lines write them."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.interop.numbers import integer
from bitgate.model import DtypeSet, ProblemError
from bitgate.ops.convolution.problem import ConvProblem, Pass

PASSES = tuple(direction.value for direction in Pass)
"""The operations that a convolution's dialect states."""

DIMENSIONS = (1, 2, 3)
SPATIAL_FIELDS = 6
"""filter, input, stride, dilation, left pad, right pad: CK's order."""


def ck_problem(
    direction: Pass, dtypes: str, layouts: tuple[str, str], numbers: Sequence[int], split_k: int = 1
) -> ConvProblem:
    """Build a problem from CK's parameter list: ndim (of DIMENSIONS) G N K C filter.. input.. stride.. dilation..
    left.. right.."""
    ndim = numbers[0]
    expected = 5 + SPATIAL_FIELDS * ndim
    if len(numbers) != expected:
        raise ProblemError(
            f"{len(numbers)} problem parameters: {ndim}D takes {expected}"
            " (ndim G N K C, then filter, input, strides, dilations, left pads, right pads)"
        )
    g, n, k, c = numbers[1:5]
    spatial = [tuple(numbers[5 + field * ndim : 5 + (field + 1) * ndim]) for field in range(SPATIAL_FIELDS)]
    layout, wei_layout = layouts
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(dtypes),
        layout=in_dimensions(layout, ndim),
        wei_layout=in_dimensions(wei_layout, ndim),
        g=g,
        n=n,
        k=k,
        c=c,
        filter=spatial[0],
        input=spatial[1],
        stride=spatial[2],
        dilation=spatial[3],
        left_pad=spatial[4],
        right_pad=spatial[5],
        split_k=split_k,
    )


def number_of_dimensions(word: str) -> int:
    """ProblemError unless it is one of DIMENSIONS."""
    ndim = integer(word, "the number of spatial dimensions")
    if ndim not in DIMENSIONS:
        raise ProblemError(f"the number of spatial dimensions is {ndim}: 1 to 3 are possible")
    return ndim


_SPATIAL_LETTERS = {"hw": {1: "w", 2: "hw", 3: "dhw"}, "yx": {1: "x", 2: "yx", 3: "zyx"}}


def in_dimensions(layout: str, ndim: int) -> str:
    """Return the 1D or 3D layout of the same order as a 2D one: ``nhwgc`` -> ``ndhwgc``."""
    for two, spelled in _SPATIAL_LETTERS.items():
        layout = layout.replace(two, spelled[ndim])
    return layout
