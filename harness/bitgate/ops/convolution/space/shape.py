"""Convolutions of other teams' tables, which name little beside their sizes."""

from __future__ import annotations

from pathlib import Path

from bitgate.model import DtypeSet
from bitgate.ops.convolution.layout import default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass


def shape_problem(
    direction: Pass,
    numbers: tuple[int, int, int, int],
    spatial: tuple[tuple[int, ...], ...],
    dtypes: str = "f16",
    layout: str = "",
    wei_layout: str = "",
) -> ConvProblem:
    """A plain problem from (G, N, K, C) and (filter, input, stride, dilation, left pads, right pads)."""
    ndim = len(spatial[1])
    g, n, k, c = numbers
    filter_, input_, stride, dilation, left_pad, right_pad = spatial
    return ConvProblem(
        direction=direction,
        dtypes=DtypeSet.parse(dtypes),
        layout=layout or default_layout(ndim),
        wei_layout=wei_layout or default_weight_layout(ndim),
        g=g,
        n=n,
        k=k,
        c=c,
        filter=filter_,
        input=input_,
        stride=stride,
        dilation=dilation,
        left_pad=left_pad,
        right_pad=right_pad,
    )


_SPELLINGS = {
    Pass.BWD_DATA: ("bwd_data", "bwddata", "backward_data"),
    Pass.BWD_WEIGHT: ("bwd_weight", "bwdweight", "backward_weight"),
    Pass.FWD: ("fwd", "forward"),
}


def pass_of(asked: str, path: Path, text: str = "") -> Pass:
    """The pass that is asked for, else the one that the file's name tells, else the one that its text names most
    often, else bwd_data."""
    if asked:
        return Pass(asked)
    for content in (path.name.lower(), text.lower()):
        counts = {direction: sum(content.count(word) for word in words) for direction, words in _SPELLINGS.items()}
        best = max(counts, key=lambda direction: counts[direction])
        if counts[best]:
            return best
    return Pass.BWD_DATA
