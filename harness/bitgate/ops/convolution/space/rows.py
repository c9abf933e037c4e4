"""The words of rows of case tables and ledgers of known bugs for convolutions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bitgate.core.table_fields import numbers, texts
from bitgate.model import ELEMENTWISE
from bitgate.model.space.problem_property import COMMON, GAP, Property, PropertyKind, attribute
from bitgate.model.space.row import AxisField, Lengths, ShapePattern
from bitgate.ops.convolution.decomposition import gemms_count
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, WEIGHT_LAYOUTS
from bitgate.ops.convolution.problem import ConvProblem

LAYOUTS = {name: ndim for table in (INPUT_LAYOUTS, WEIGHT_LAYOUTS) for ndim, names in table.items() for name in names}

SHAPE = ShapePattern(r"(g\d+)?n\d+k\d+c\d+(_[a-z0-9]+)+", "g1n4k128c64_y3x3_h28x28_s3x3_p1x1")

AXES = (AxisField("weight_layouts", texts(r"[a-z]+", "gkyxc"), is_layout=True),)

PROPERTIES: Mapping[str, Property] = {
    "gemms_count": Property(gemms_count, stated="splits into"),
    "g": attribute("g"),
    "ndim": COMMON["ndim"],
    "num_d": Property(lambda problem: problem.op.num_d),
    "n": attribute("n"),
    "k": attribute("k"),
    "c": attribute("c"),
    "split_k": attribute("split_k"),
    "strided": attribute("strided", PropertyKind.FLAG),
    "dilated": Property(lambda problem: is_dilated(problem), PropertyKind.FLAG),
    "gap": GAP,
    "layout": Property(lambda problem: problem.layout, PropertyKind.NAME, tuple(LAYOUTS)),
    "weight_layout": Property(lambda problem: problem.wei_layout, PropertyKind.NAME, tuple(LAYOUTS)),
    "op": Property(lambda problem: problem.op.name, PropertyKind.NAME, tuple(ELEMENTWISE)),
    **{
        name: attribute(name, PropertyKind.LENGTHS)
        for name in ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
    },
    "dtypes": COMMON["dtypes"],
}

_SPATIAL = {"filter": "y", "input": "h", "stride": "s", "dilation": "d", "left_pad": "p", "right_pad": "q"}
_SCALARS = ("g", "n", "k", "c")


def is_dilated(problem: ConvProblem) -> bool:
    """Return whether any dilation is above 1."""
    return any(d > 1 for d in problem.dilation)


def keywords(problem: ConvProblem) -> tuple[str, ...]:
    """Return the words that ``-k`` selects by."""
    words = [f"g{problem.g}", f"{problem.ndim}d", f"gemms_count_{gemms_count(problem)}", problem.op.name]
    words += ["stride_gt_1" if problem.strided else "stride_1"]
    return (*words, *["dilated"] * is_dilated(problem))


@lru_cache(maxsize=4096)
def dimensions(shape: str) -> int:
    """Return the length of the longest list of numbers: ``y3x3_h28x28_s2`` is 2D."""
    lists = re.findall(r"_[yhsdpq](\d+(?:x\d+)*)", shape)
    return max((len(numbers.split("x")) for numbers in lists), default=0)


def _shapes(checked: Mapping[str, Any]) -> tuple[str, ...]:
    """Return ``g`` ``n`` ``k`` ``c`` (numbers or lists of alternatives) and the spatial fields as id-like shapes."""
    if "filter" not in checked:
        return ()
    heads = [""]
    for name in _SCALARS:
        heads = [head + f"{name}{value}" for head in heads for value in checked.get(name, (1,))]
    tail = "".join(
        f"_{letter}" + "x".join(map(str, checked[name])) for name, letter in _SPATIAL.items() if name in checked
    )
    return tuple(head + tail for head in heads)


LENGTHS = Lengths(
    checks={
        **dict.fromkeys(_SCALARS, numbers(1)),
        **dict.fromkeys(("filter", "input", "stride", "dilation"), numbers(1)),
        **dict.fromkeys(("left_pad", "right_pad"), numbers(0)),
    },
    needed=("n", "k", "c", "filter", "input"),
    shapes=_shapes,
)
