"""The decomposition of a convolution as text: its GEMM, or a map of residue classes and a table of sub-GEMMs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from bitgate.ops.convolution.decomposition import BUCKET, never_written_fraction, sub_gemms
from bitgate.ops.convolution.problem import ConvProblem, Pass

WIDEST = 40
"""Residues along an axis that are drawn; larger strides are cut."""


def picture(problem: ConvProblem) -> str:
    """Draw the GEMM of a group; of bwd_data the share of dx that is zero, the map and the table."""
    if problem.direction is not Pass.BWD_DATA:
        return f"one GEMM a group: {_gemm(problem)}"
    never = never_written_fraction(problem)
    return "\n".join(
        (
            f"{never:.1%} of dx gets no contribution and must be zero" if never else "every cell of dx is written",
            "",
            "sub-GEMM of each residue class of dx, (x + pad) mod stride; '.' is written by none:",
            residue_map(problem),
            "",
            sub_gemm_table(problem),
        )
    )


def _gemm(problem: ConvProblem) -> str:
    positions, taps = prod(problem.output), prod(problem.filter)
    if problem.direction is Pass.FWD:
        return f"M = N * outputs = {problem.n * positions}, N = K = {problem.k}, K = C * taps = {problem.c * taps}"
    return f"M = K = {problem.k}, N = C * taps = {problem.c * taps}, K = N * outputs = {problem.n * positions}"


def residue_map(problem: ConvProblem) -> str:
    """Draw a map whose rows and columns are (x + pad) mod stride of the last two axes.

    A 3D problem has one map for each residue of the first axis. Each place holds the number of the sub-GEMM that writes
    such cells of dx, ``.`` if none does.
    """
    owner = {
        tuple(t * d % s for t, d, s in zip(gemm.tilde, problem.dilation, problem.stride, strict=True)): gemm.index
        for gemm in sub_gemms(problem)
    }
    width = len(str(max(owner.values())))
    sizes = [min(stride, WIDEST) for stride in problem.stride]
    if len(sizes) == 1:
        sizes = [1, *sizes]
        owner = {(0, *residue): index for residue, index in owner.items()}
    lines: list[str] = []
    for plane in product(*(range(size) for size in sizes[:-2])):
        if plane:
            lines.append(f"depth {plane[0]}:")
        lines += _plane(owner, plane, sizes[-2], sizes[-1], width)
    if any(stride > WIDEST for stride in problem.stride):
        lines.append(f"(strides over {WIDEST} are cut)")
    return "\n".join(lines)


def _plane(
    owner: dict[tuple[int, ...], int], plane: tuple[int, ...], rows: int, columns: int, width: int
) -> Iterator[str]:
    for row in range(rows):
        places = [str(owner.get((*plane, row, column), ".")) for column in range(columns)]
        yield "  " + " ".join(place.rjust(width) for place in places)


def sub_gemm_table(problem: ConvProblem) -> str:
    """Draw one row for each sub-GEMM: tilde class, taps, GEMM sizes of a group, bucket."""
    rows = [("sub-GEMM", "tilde", "taps", "M", "N", "K", "bucket")]
    for gemm in sub_gemms(problem):
        rows.append(
            (
                str(gemm.index),
                "x".join(map(str, gemm.tilde)),
                "x".join(map(str, gemm.taps)),
                str(gemm.m),
                str(gemm.n),
                str(gemm.k),
                str(gemm.bucket),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)) for row in rows]
    buckets = sub_gemms(problem)[-1].bucket + 1
    lines.append(f"{buckets} grouped launch{'es' if buckets > 1 else ''} of at most {BUCKET}")
    return "\n".join(lines)
