"""The decomposition of bwd_data into sub-GEMMs, and the cells of dx that no sub-GEMM writes.

Cells x of dx with the same residue (x + pad) mod stride get their contributions from the same filter taps, so each
residue class is one dense GEMM. Per axis with g = gcd(stride, dilation): tilde T = stride / g classes, of which class i
owns taps f = i + T * dot for dot < ceil((F - i) / T). A class without a tap is empty and is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from bitgate.ops.convolution.problem import ConvProblem, Pass

BUCKET = 32
"""Sub-GEMMs that one grouped launch takes in production."""


@dataclass(frozen=True)
class AxisClass:
    """Residue class ``tilde`` of one axis: its taps, and the slice of window positions h that reach the image.

    Window position h touches dx cell  h * stride + tilde * dilation - pad  and, for tap dot, dy row
    h - (dilation / g) * dot.
    """

    tilde: int
    taps: int
    begin: int
    end: int

    @property
    def length(self) -> int:
        return max(0, self.end - self.begin)


@dataclass(frozen=True)
class SubGemm:
    """One dense GEMM of the decomposition: M = N * prod(slice), N = C, K = K * prod(taps), for each group."""

    index: int
    axes: tuple[AxisClass, ...]
    m: int
    n: int
    k: int

    @property
    def bucket(self) -> int:
        return self.index // BUCKET

    @property
    def tilde(self) -> tuple[int, ...]:
        return tuple(axis.tilde for axis in self.axes)

    @property
    def taps(self) -> tuple[int, ...]:
        return tuple(axis.taps for axis in self.axes)


def axis_classes(problem: ConvProblem, axis: int) -> tuple[AxisClass, ...]:
    """Return the tilde classes of one axis that own a tap: the first min(F, tilde)."""
    f, tildes = problem.filter[axis], axis_tildes(problem, axis)
    begin, end = _window_slice(problem, axis)
    return tuple(AxisClass(t, -(-(f - t) // tildes), begin, end) for t in range(min(f, tildes)))


def _window_slice(problem: ConvProblem, axis: int) -> tuple[int, int]:
    """Return the window positions that can reach the image; every class of the axis takes the same."""
    f, i = problem.filter[axis], problem.input[axis]
    s, d, p, o = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis], problem.output[axis]
    h_tilde = o + -(-d * (f - 1) // s)
    begin = max(0, p - d * (axis_tildes(problem, axis) - 1)) // s
    return begin, min(h_tilde, -(-(p + i - 1) // s) + 1)


@lru_cache(maxsize=1024)
def sub_gemms(problem: ConvProblem) -> tuple[SubGemm, ...]:
    """Return the sub-GEMMs of a bwd_data problem in host order (slowest axis first), without the empty ones."""
    if problem.direction is not Pass.BWD_DATA:
        raise ValueError(f"only bwd_data splits into sub-GEMMs, this is {problem.direction}")
    gemms: list[SubGemm] = []
    m = sub_gemm_rows(problem)
    for axes in product(*(axis_classes(problem, axis) for axis in range(problem.ndim))):
        gemms.append(SubGemm(len(gemms), axes, m, problem.c, problem.k * prod(axis.taps for axis in axes)))
    return tuple(gemms)


@lru_cache(maxsize=1024)
def sub_gemm_rows(problem: ConvProblem) -> int:
    """Return M of the sub-GEMMs of a bwd_data problem; it is the same for all of them."""
    slices = (_window_slice(problem, axis) for axis in range(problem.ndim))
    return problem.n * prod(max(0, end - begin) for begin, end in slices)


def axis_tildes(problem: ConvProblem, axis: int) -> int:
    """Return the number of residue classes of one axis, empty ones included: stride / gcd(stride, dilation)."""
    return problem.tildes(axis)


def tildes(problem: ConvProblem) -> int:
    return prod(axis_tildes(problem, axis) for axis in range(problem.ndim))


def gemms_count(problem: ConvProblem) -> int:
    return problem.gemms_count


def owner_of(problem: ConvProblem, axis: int, x: int) -> int | None:
    """Return the tilde class whose taps reach dx coordinate x on this axis, None if no class does."""
    s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    for cls in axis_classes(problem, axis):
        offset = x + p - cls.tilde * d
        if offset % s == 0 and cls.begin <= offset // s < cls.end:
            return cls.tilde
    return None


def written_cells(problem: ConvProblem, axis: int) -> tuple[bool, ...]:
    """Return for each dx coordinate of the axis whether any sub-GEMM writes it.

    A cell of dx is written if all its coordinates are.
    """
    written = [False] * problem.input[axis]
    s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    for cls in axis_classes(problem, axis):
        for h in range(cls.begin, cls.end):
            x = h * s + cls.tilde * d - p
            if 0 <= x < problem.input[axis]:
                written[x] = True
    return tuple(written)


def reached_cells(problem: ConvProblem, axis: int) -> tuple[bool, ...]:
    """Return for each dx coordinate whether any (output, tap) pair contributes to it.

    This enumerates taps instead of classes, so that tests can compare both.
    """
    reached = [False] * problem.input[axis]
    s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    for f in range(problem.filter[axis]):
        first = max(0, -(-(p - f * d) // s))
        last = min(problem.output[axis] - 1, (problem.input[axis] - 1 + p - f * d) // s)
        for o in range(first, last + 1):
            reached[o * s + f * d - p] = True
    return tuple(reached)


def never_written_fraction(problem: ConvProblem) -> float:
    """Return the share of dx cells that receive no contribution and must be zero."""
    share = 1.0
    for axis in range(problem.ndim):
        share *= sum(reached_cells(problem, axis)) / problem.input[axis]
    return 1.0 - share
