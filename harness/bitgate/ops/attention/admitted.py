"""The sizes of a problem of attention, and the keys that its mask lets each query admit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


SPARE_PAGES = 2
"""Pages that no sequence has."""


class KeyMask(str, Enum):
    """The keys that a query may see."""

    FULL = "full"
    CAUSAL = "causal"
    WINDOW = "window"


class Apart:
    """The base of sizes whose batches lie apart: sizes that can state another place have a field for it."""

    packed = paged = scaled = False


@dataclass(frozen=True)
class AttentionSizes(Apart):
    """Batch, heads of queries, heads of keys and values, queries, keys, head size, keys of a window, and of a page.

    Of ``packed`` sequences ``b`` is their number, and ``s`` and ``t`` count the queries and keys of all.
    """

    b: int
    h: int
    kv: int
    s: int
    t: int
    d: int
    w: int = 1
    p: int = 1
    mask: KeyMask = KeyMask.FULL
    padded: bool = False
    lse: bool = False
    packed: bool = False
    paged: bool = False
    scaled: bool = False

    @property
    def table(self) -> int:
        """The pages of a sequence, the last of which may be partial."""
        return -(-self.t // self.p)

    @property
    def pages(self) -> int:
        """The pages of all sequences, and spare ones."""
        return self.b * self.table + SPARE_PAGES


@dataclass(frozen=True)
class Admitted:
    """The keys from ``first`` up to ``end`` that each query admits, shape (b, s); none where ``end <= first``."""

    first: Ints
    end: Ints

    @property
    def none(self) -> NDArray[np.bool_]:
        return np.asarray(self.end <= self.first)

    def mask(self, keys: int) -> NDArray[np.bool_]:
        """Return which keys are admitted, shape (b, 1, s, t)."""
        key = np.arange(keys)
        return np.asarray((key >= self.first[:, None, :, None]) & (key < self.end[:, None, :, None]))


def admitted(sizes: AttentionSizes, lengths: NDArray[Any] | None = None, late: int | Ints = 0) -> Admitted:
    """Return the admitted keys; ``lengths`` is what a padded problem reads, ``late`` moves the diagonal."""
    last = np.broadcast_to(np.arange(sizes.s) + 1 + sizes.t - sizes.s + late, (sizes.b, sizes.s))
    first = last - sizes.w if sizes.mask is KeyMask.WINDOW else np.zeros_like(last)
    end = np.full_like(last, sizes.t) if sizes.mask is KeyMask.FULL else last
    if sizes.padded and lengths is not None:
        end = np.minimum(end, np.asarray(lengths).astype(np.int64)[:, None])
    return Admitted(np.maximum(first, 0), np.clip(end, 0, sizes.t))


def by_group(sizes: AttentionSizes, heads: NDArray[Any]) -> NDArray[Any]:
    """Return a tensor of query heads as (b, kv, heads of a group, ...)."""
    return heads.reshape(sizes.b, sizes.kv, sizes.h // sizes.kv, *heads.shape[2:])


def products(sizes: AttentionSizes, q: NDArray[Any], k: NDArray[Any]) -> NDArray[Any]:
    """Return q . k of each query and key, shape (b, h, s, t), in the type of q."""
    found = by_group(sizes, q) @ np.swapaxes(k, 2, 3)[:, :, None]
    return np.asarray(found.reshape(sizes.b, sizes.h, sizes.s, -1))
