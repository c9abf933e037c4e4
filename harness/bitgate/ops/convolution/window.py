"""The sliding window of a convolution, as native code takes it and as index arithmetic."""

from __future__ import annotations

from bitgate.numerics.native import WindowView
from bitgate.ops.convolution.problem import ConvProblem


def window_of(problem: ConvProblem) -> WindowView:
    """Always three axes; those that the problem has not are of length 1."""
    ones = (1,) * (3 - problem.ndim)
    return WindowView(
        ones + problem.output,
        ones + problem.filter,
        ones + problem.stride,
        ones + problem.dilation,
        (0,) * len(ones) + problem.left_pad,
    )


def third(problem: ConvProblem, axis: int, known: dict[str, int]) -> int | None:
    """The coordinate that i = o * stride + f * dilation - left_pad leaves open, of two that are known by their letter;
    None if it is no whole number."""
    stride, dilation, pad = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    if "i" not in known:
        return known["o"] * stride + known["f"] * dilation - pad
    if "o" not in known:
        rest, step = known["i"] + pad - known["f"] * dilation, stride
    else:
        rest, step = known["i"] + pad - known["o"] * stride, dilation
    return rest // step if rest % step == 0 else None


def meeting(problem: ConvProblem, axis: int, tap: int) -> tuple[slice, slice]:
    """Along one axis, the input cells and the output positions that meet at a tap, side by side."""
    stride = problem.stride[axis]
    shift = tap * problem.dilation[axis] - problem.left_pad[axis]
    first = max(0, -(shift // stride))
    end = max(first, min(problem.output[axis], (problem.input[axis] - 1 - shift) // stride + 1))
    begin = first * stride + shift
    return slice(begin, begin + (end - first) * stride, stride) if end > first else slice(0, 0), slice(first, end)
