"""A dispatch record's list of GEMMs, made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bitgate.ops.convolution.launches import SubGemmRecord


def parts_of(gemms: Iterable[SubGemmRecord]) -> dict[str, Any]:
    """``part_columns`` and ``parts`` of a record that lists these."""
    rows = []
    for gemm in gemms:
        single = ("index", "bucket", "launched", "main_loop", "m", "n", "k", "first_block", "blocks")
        axes = {"tilde": gemm.tilde, "taps": gemm.taps, "begin": gemm.slice_begin, "length": gemm.slice_length}
        row = {name: int(getattr(gemm, name)) for name in single}
        row |= {f"{name}{axis}": value for name, values in axes.items() for axis, value in enumerate(values)}
        rows.append(row)
    return {"part_columns": tuple(rows[0]), "parts": tuple(tuple(row.values()) for row in rows)}
