"""The bwd_data decomposition as text: a map of residue classes, and a table of sub-GEMMs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from bitgate.operations.convolution.decomposition import BUCKET, sub_gemms
from bitgate.operations.convolution.problem import ConvProblem

WIDEST = 40
"""Residues along an axis that are drawn; of larger strides only the first."""


def residue_map(problem: ConvProblem) -> str:
    """Rows and columns are (x + pad) mod stride of the last two axes; a 3D problem has one map a residue of the first.

    Each place holds the number of the sub-GEMM that writes such cells of dx, ``.`` if none does.
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
    """One row a sub-GEMM: tilde class, taps, GEMM sizes of a group, bucket."""
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
