"""The parts of a tensor's memory that have cells, where wide gaps lie between them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bitgate.model.tensor import Tensor

Runs = tuple[tuple[int, int], ...]
"""Begin and end of stretches of memory, in bytes from a tensor's first; in order, and apart."""

NARROW = 1 << 16
"""Bytes of a gap that is too narrow to end a run."""
WIDE = 1 << 28
"""Bytes of a tensor from which it is worth leaving gaps without memory."""
SHARE = 4
"""The least ratio of a tensor's bytes to those of its runs."""
MOST_RUNS = 4096
"""Each takes a mapping of the process, which may have 65530, and each is filled and summed by itself."""


@lru_cache(maxsize=256)
def memory_runs(tensor: Tensor) -> Runs | None:
    """Return the runs of a tensor that is mostly wide gaps; None for any other."""
    if tensor.bytes < WIDE:
        return None
    begins, size = np.zeros(1, np.int64), tensor.dtype.bytes
    steps = sorted((step * size, length) for length, step in zip(tensor.lengths, tensor.strides, strict=True) if step)
    for step, length in steps:
        if step <= size + NARROW:  # the cells along this axis are one run
            size += step * (length - 1)
        else:
            begins = (np.arange(length, dtype=np.int64)[:, None] * step + begins).reshape(-1)
        if begins.size > MOST_RUNS:
            return None
    runs = joined(np.stack([np.sort(begins), np.sort(begins) + size], axis=1), NARROW)
    return runs if SHARE * sum(end - begin for begin, end in runs) <= tensor.bytes else None


def joined(stretches: NDArray[np.int64], distance: int = 0) -> Runs:
    """Return stretches, rows of begin and end in order, as runs that are further apart than ``distance``."""
    begins, ends = stretches[:, 0], np.maximum.accumulate(stretches[:, 1])
    is_first = np.append(True, begins[1:] > ends[:-1] + distance)
    lasts = np.append(ends[:-1][is_first[1:]], ends[-1])
    return tuple(zip(begins[is_first].tolist(), lasts.tolist(), strict=True))
