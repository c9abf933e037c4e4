"""Attention's operands as batches of heads, however they lie in memory: sequences that are packed are one batch.

``cu_seqlens_q`` and ``cu_seqlens_k`` of packed sequences say where each begins, and where the last ends: b + 1 numbers.
``page_table`` of keys in pages names the pages of each sequence, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.ops.attention.admitted import Admitted, Ints, KeyMask, admitted


@dataclass(frozen=True)
class Rows:
    """The begin and end of each query's sequence among queries and keys, shape (b, s); b is 1 of packed ones."""

    first_query: Ints
    end_query: Ints
    first_key: Ints
    end_key: Ints

    @classmethod
    def of(cls, sizes: Any, inputs: Mapping[str, NDArray[Any]], last: int | None = None) -> Rows:
        """Return the rows of the sequences; those past ``last`` are taken for it, where a search ends there."""
        if not sizes.packed:
            none = np.zeros((sizes.b, sizes.s), np.int64)
            return cls(none, none + sizes.s, none, none + sizes.t)
        queries, keys = (np.asarray(inputs[f"cu_seqlens_{one}"]).astype(np.int64) for one in "qk")
        # Of several sequences that begin at a query the last has it: the others are empty.
        own = np.searchsorted(queries, np.arange(sizes.s), side="right") - 1
        own = np.clip(own, 0, sizes.b - 1 if last is None else last)[None]
        return cls(queries[own], queries[own + 1], keys[own], keys[own + 1])


def admitted_of(
    sizes: Any, inputs: Mapping[str, NDArray[Any]], late: int | Ints = 0, last: int | None = None
) -> Admitted:
    """Return the admitted keys of each query, shape (b, s), counted among all keys of packed sequences."""
    if not sizes.packed:
        return admitted(sizes, inputs.get("lengths"), late)
    rows = Rows.of(sizes, inputs, last)
    query = np.arange(sizes.s) - rows.first_query
    upto = rows.first_key + query + 1 + (rows.end_key - rows.first_key) - (rows.end_query - rows.first_query) + late
    first = np.maximum(rows.first_key, upto - sizes.w) if sizes.mask is KeyMask.WINDOW else rows.first_key
    end = rows.end_key if sizes.mask is KeyMask.FULL else np.minimum(upto, rows.end_key)
    return Admitted(np.maximum(first, 0), np.clip(end, 0, sizes.t))


@dataclass(frozen=True)
class Dense:
    """Sizes of which b counts batches, q (b, h, s, d), scaled k and v (b, kv, t, d), and the admitted keys."""

    sizes: Any
    cells: Mapping[str, NDArray[Any]]
    keys: Admitted

    @classmethod
    def of(cls, sizes: Any, inputs: Mapping[str, NDArray[Any]], late: int | Ints = 0, held: bool = False) -> Dense:
        """Return the operands. ``held``: keys in pages as memory holds them, NaN where none has been written."""
        cells = {role: np.asarray(inputs[role]) for role in ("q", "k", "v")}
        if sizes.packed:
            cells = {role: cell[None] for role, cell in cells.items()}
        if sizes.paged:
            of_pages = in_order if held else gathered
            cells |= {role: of_pages(cells[role], inputs["page_table"]) for role in ("k", "v")}
        if sizes.scaled:
            cells |= {role: cells[role] * by_head(inputs[f"{role}_scale"]) for role in ("k", "v")}
        return cls(dense_sizes(sizes), cells, admitted_of(sizes, inputs, late))


def dense_sizes(sizes: Any) -> Any:
    """Return the sizes of the batches: all packed sequences are one, and keys in pages end with the last page."""
    if sizes.packed:
        return replace(sizes, b=1, packed=False)
    return replace(sizes, t=sizes.table * sizes.p, p=1, paged=False) if sizes.paged else sizes


def by_head(scales: NDArray[Any]) -> NDArray[Any]:
    """Return scales (kv) so that they multiply keys (b, kv, t, d)."""
    return np.asarray(scales)[None, :, None, None]


def in_order(pool: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """Return keys (b, kv, t, d) of pages (n, kv, p, d), as memory holds them."""
    pages = np.moveaxis(pool[np.clip(np.asarray(table).astype(np.int64), 0, len(pool) - 1)], 1, 2)
    return pages.reshape(*pages.shape[:2], -1, pages.shape[4])


def gathered(pool: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    """Return keys (b, kv, t, d) of pages (n, kv, p, d); 0 where none has been written."""
    cells = in_order(pool, table)
    return np.where(np.isnan(cells), cells.dtype.type(0), cells)


def in_pages(cells: NDArray[Any], table: NDArray[Any], lengths: NDArray[Any], pages: int, size: int) -> NDArray[Any]:
    """Return keys (b, kv, t, d) in pages (n, kv, p, d), NaN in those past ``lengths`` and in those of no sequence."""
    batches, heads, _, columns = cells.shape
    pool = np.full((pages, heads, size, columns), np.nan)
    split = np.moveaxis(cells.reshape(batches, heads, -1, size, columns), 1, 2)
    is_written = np.arange(table.shape[1]) * size < lengths[:, None]
    pool[table[is_written]] = split[is_written]
    return pool
