"""The GEMMs of a problem as a dispatch record lists them (GemmPart of kernels/include/bitgate/products.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SubGemmRecord:
    """One GEMM as the library saw it; tuples have one entry a spatial dimension."""

    index: int
    bucket: int
    launched: bool
    main_loop: bool
    tilde: tuple[int, ...]
    taps: tuple[int, ...]
    slice_begin: tuple[int, ...]
    slice_length: tuple[int, ...]
    m: int
    n: int
    k: int
    first_block: int
    blocks: int

    @classmethod
    def of(cls, part: Mapping[str, int], ndim: int) -> SubGemmRecord:
        """KeyError names a column that the part lacks."""
        return cls(
            index=part["index"],
            bucket=part["bucket"],
            launched=part["launched"] != 0,
            main_loop=part["main_loop"] != 0,
            tilde=tuple(part[f"tilde{axis}"] for axis in range(ndim)),
            taps=tuple(part[f"taps{axis}"] for axis in range(ndim)),
            slice_begin=tuple(part[f"begin{axis}"] for axis in range(ndim)),
            slice_length=tuple(part[f"length{axis}"] for axis in range(ndim)),
            m=part["m"],
            n=part["n"],
            k=part["k"],
            first_block=part["first_block"],
            blocks=part["blocks"],
        )


class Listing(Protocol):
    """What a dispatch record has of them."""

    @property
    def part_columns(self) -> tuple[str, ...]: ...

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]: ...


def sub_gemm_records(record: Listing, ndim: int) -> tuple[SubGemmRecord, ...]:
    """The parts of a record that are GEMMs; none if its columns name something else."""
    try:
        return tuple(SubGemmRecord.of(dict(zip(record.part_columns, part, strict=True)), ndim) for part in record.parts)
    except KeyError:
        return ()
