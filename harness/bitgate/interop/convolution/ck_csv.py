"""CK's data sets as CSV: ``NDim,Groups,BatchSize,OutChannels,InChannels,KernelH,KernelW,..,RightPadW,TestName``.

Channels are per group. Of three dimensions the columns of D come before those of H. The output lengths are stated as
well, and held against those that follow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bitgate.interop.numbers import integer
from bitgate.model import ProblemError
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.tables import shape_problem

MARKS = ("ndim", "batchsize", "outchannels", "inchannels")
"""Columns (in lower case) by which the header is known."""

_NUMBERS = ("groups", "batchsize", "outchannels", "inchannels")
_SPATIAL = ("kernel", "input", "stride", "dilation", "leftpad", "rightpad")
_AXES = "dhw"


def is_ck(columns: Collection[str]) -> bool:
    return set(MARKS) <= set(columns)


def name_of(record: Mapping[str, str]) -> str:
    return (record.get("testname") or "").strip()


def problem(record: Mapping[str, str], direction: Pass) -> ConvProblem:
    """Return a row's problem. ProblemError names the column that is missing, no number or contradicts the others."""
    ndim = _number(record, "ndim")
    if ndim not in (1, 2, 3):
        raise ProblemError(f"NDim is {ndim}: 1 to 3 are possible")
    axes = _AXES[3 - ndim :]
    g, n, k, c = (_number(record, name) for name in _NUMBERS)
    spatial = tuple(tuple(_number(record, name + axis) for axis in axes) for name in _SPATIAL)
    found = shape_problem(direction, (g, n, k, c), spatial)
    stated = tuple(_number(record, "output" + axis) for axis in axes if record.get("output" + axis))
    if stated and stated != found.output:
        sizes = ["x".join(map(str, lengths)) for lengths in (stated, found.output)]
        raise ProblemError(f"the output is stated as {sizes[0]}, {sizes[1]} follows from the other columns")
    return found


def _number(record: Mapping[str, str], name: str) -> int:
    cell = record.get(name)
    if not cell:
        raise ProblemError(f"column {name} is missing or empty")
    return integer(cell.strip(), name)
