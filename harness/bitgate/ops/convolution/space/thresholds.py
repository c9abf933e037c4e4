"""Thresholds at which host code of convolution kernels branches."""

from __future__ import annotations

from itertools import pairwise
from math import prod

from bitgate.model import Tensor
from bitgate.model.space.threshold import COMMON, Quantity, Threshold, Way, blocks, remainder

FLAT_VECTOR = 8
"""Elements that a packed descriptor moves at once, where an instance does not state its own."""


def _vector(way: Way, place: int) -> int:
    """Return the vector that K is measured by: of an instance that moves single elements the packed descriptor's."""
    stated = (way.vector or (1, 1, 1))[place]
    return stated if stated > 1 else FLAT_VECTOR


def _columns(way: Way) -> int:
    return int(way.problem.c if way.problem.result == "in" else way.problem.k)


def _reduced(way: Way) -> int:
    return int(way.problem.k if way.problem.result == "in" else way.problem.c)


def _beyond_buckets(buckets: int) -> Quantity:
    """Return the quantity of sub-GEMMs that exceed this number of buckets; for bwd_data."""

    def quantity(way: Way) -> int | None:
        return way.gemms_count - buckets * way.option("bucket_size", 32) if way.problem.result == "in" else None

    return quantity


def _uneven(way: Way) -> int | None:
    """Return how many images with channels last have positions that are not the evenly spaced rows of a matrix.

    Images of other layouts are copied: None.
    """
    images = [tensor for role in ("in", "out") if (tensor := way.problem.tensors[role]).strides[2] == 1]
    return sum(not _is_even(tensor) for tensor in images) if images else None


def _is_even(tensor: Tensor) -> bool:
    _, images, _, *spatial = zip(tensor.lengths, tensor.strides, strict=True)
    rows = [(length, stride) for length, stride in (images, *spatial) if length > 1]
    return all(outer[1] == inner[0] * inner[1] for outer, inner in pairwise(rows))


_LAUNCHES, _ZERO_FILL = COMMON
THRESHOLDS: tuple[Threshold, ...] = (
    Threshold(
        "gemms_count",
        "one sub-GEMM",
        "several sub-GEMMs",
        1,
        lambda w: w.gemms_count if w.problem.result == "in" else None,
    ),
    Threshold("bucket", "sub-GEMMs that fit one bucket", "sub-GEMMs beyond one bucket", 0, _beyond_buckets(1)),
    Threshold("two_buckets", "sub-GEMMs that fit two buckets", "sub-GEMMs beyond two buckets", 0, _beyond_buckets(2)),
    Threshold("g", "one group", "several groups", 1, lambda w: int(w.problem.g)),
    Threshold("numd", "no D tensor", "a D tensor", 0, lambda w: int(w.problem.op.num_d)),
    Threshold("k_vector", "K in whole vectors", "K with a ragged vector", 0, lambda w: w.problem.k % _vector(w, 0)),
    Threshold("c_vector", "C in whole vectors", "C with a ragged vector", 0, lambda w: w.problem.c % _vector(w, 1)),
    Threshold("k_length", "K of at least one vector", "K below one vector", 0, lambda w: _vector(w, 0) - w.problem.k),
    Threshold("columns_tail", "whole tiles of columns", "a ragged tile of columns", 0, remainder(_columns, 1)),
    Threshold("columns", "one tile of columns", "several tiles of columns", 1, blocks(_columns, 1)),
    Threshold("k_tail", "whole tiles of channels summed", "a ragged tile of them", 0, remainder(_reduced, 2)),
    Threshold("k_blocks", "one tile of channels summed", "several tiles of them", 1, blocks(_reduced, 2)),
    Threshold("split_n", "images in one chunk", "images in several chunks", 1, lambda w: w.split_n, "split_n_bytes"),
    Threshold("split_k", "K in one slice", "K in several slices", 1, lambda w: w.split_k),
    Threshold("even_rows", "positions evenly apart", "a gap between lines or images", 0, _uneven),
    _LAUNCHES,
    _ZERO_FILL,
    Threshold("taps", "a single tap", "several taps", 1, lambda w: prod(w.problem.filter)),
)
