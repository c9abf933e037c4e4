"""Sizes of kernels that thresholds between classes refer to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Elements of a vector load, the tile M x N x K, and the bytes from which a batch is split (or addressed in
    64 bits). The defaults are the common 16-bit instances of the field."""

    vector: int = 8
    tile: tuple[int, int, int] = (128, 128, 32)
    split_n_bytes: int = 2**31
