"""Mistakes of attention: what a defect makes of whole queries, recomputed and compared with what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.ops.attention.attention import Admitted, AttentionSizes, Floats, Ints, KeyMask, KeySoftmax
from bitgate.ops.attention.sequences import Dense, Rows, admitted_of
from bitgate.runtime.buffers import CANARY
from bitgate.verify.diagnose.layouts import read_otherwise
from bitgate.verify.diagnose.row_mistakes import KnownRows, RowMistake

Of = TypeVar("Of", Admitted, Rows)

KEY_TILES = (32, 64, 128, 16)
"""Keys that kernels take at once, tried where an instance does not say."""
QUERY_TILES = (64, 128, 32, 16)
COLUMN_TILES = (64, 32, 16, 8)
SLICES = (2, 3, 4, 5, 7, 8)
SCALES = ((1.1, "1.1"), (0.5, "1/2"), (2.0, "2"), (np.log(2), "ln 2: powers of 2 without log2 e"))

OWN_HEAD = "the query's own head"
HOST_CANARY = 0xCA
"""The byte of guards in memory of the host platform (kernels/platforms/host/runtime/memory.hpp)."""
PAST_THE_END = tuple(float(np.full(4, byte, np.uint8).view(np.float32)[0]) for byte in (HOST_CANARY, CANARY))
"""The values that a read past the end of a tensor of f32 gives: on the host, and on a GPU."""


@dataclass(frozen=True)
class KnownQueries(KnownRows):
    """Some queries of a scene: all their cells, and which are wrong."""

    @property
    def stated(self) -> AttentionSizes:
        """The sizes of the problem."""
        sizes: AttentionSizes = self.scene.problem.sizes
        return sizes

    @cached_property
    def inputs(self) -> Mapping[str, Floats]:
        return {role: np.asarray(cells, np.float64) for role, cells in self.scene.inputs.items()}

    @cached_property
    def dense(self) -> Dense:
        return Dense.of(self.stated, self.inputs)

    @property
    def sizes(self) -> AttentionSizes:
        """The sizes of the batches: all packed sequences are one."""
        sizes: AttentionSizes = self.dense.sizes
        return sizes

    @property
    def terms(self) -> int:
        return self.sizes.t + self.sizes.d

    @property
    def work(self) -> int:
        return self.sizes.t * self.sizes.d

    def by_row(self, array: NDArray[Any]) -> NDArray[Any]:
        queries = self.sizes.b * self.sizes.h * self.sizes.s
        return array.reshape(queries, *array.shape[-1:] * (self.scene.role == "o"))

    @cached_property
    def place(self) -> tuple[NDArray[np.intp], ...]:
        """The batch, head and query of each."""
        return np.unravel_index(self.rows, (self.sizes.b, self.sizes.h, self.sizes.s))

    @cached_property
    def in_sequences(self) -> Rows:
        """The begin and end of each query's sequence, shape (queries, 1)."""
        return self._chosen(Rows.of(self.stated, self.inputs))

    def _chosen(self, every: Of) -> Of:
        """Return arrays (b, s) at the chosen queries, shape (queries, 1)."""
        at = (self.place[0], self.place[2])
        return type(every)(*(array[at][:, None] for array in vars(every).values()))

    def _slack(self, values: Floats) -> Floats:
        """Return what rounding of weights and sums may change: it goes by the values, not by what they sum to."""
        if values.ndim == 1:
            return super()._slack(values)
        dtype = self.scene.problem.tensors["q"].dtype
        weights = 0.0 if self.scene.exact or dtype.bytes > 2 else 2.0**-dtype.mantissa
        size = np.abs(self.v).max(axis=(1, 2))[:, None]
        return np.asarray(super()._slack(values) + (weights + 8 * self.terms * 2.0**-24) * size)

    @cached_property
    def q(self) -> Floats:
        return np.asarray(self.dense.cells["q"][self.place])

    @cached_property
    def group(self) -> NDArray[np.intp]:
        """The head of keys that each belongs to."""
        return np.asarray(self.place[1] // (self.sizes.h // self.sizes.kv))

    @cached_property
    def v(self) -> Floats:
        return self.heads("v", self.group)

    def heads(self, role: str, group: NDArray[np.intp], cells: Mapping[str, Floats] | None = None) -> Floats:
        """Return keys or values of a head for each query, shape (queries, t, d)."""
        return np.asarray((cells or self.dense.cells)[role][self.place[0], group])

    def logits(
        self,
        group: NDArray[np.intp],
        columns: int | None = None,
        cells: Mapping[str, Floats] | None = None,
        q: Floats | None = None,
    ) -> Floats:
        """Return logits against the keys of a head, of the first ``columns`` columns; shape (queries, t)."""
        keys, queries = self.heads("k", group, cells)[:, :, :columns], self.q if q is None else q
        return np.asarray(np.einsum("rd,rtd->rt", queries[:, :columns], keys) / np.sqrt(self.sizes.d))

    @cached_property
    def x(self) -> Floats:
        return self.logits(self.group)

    def keys(self, sizes: AttentionSizes, late: int | Ints = 0, last: int | None = None, **other: Any) -> Admitted:
        """Return which keys another mask admits, or ``other`` numbers than those read; shape (queries, 1).

        Queries of packed sequences past ``last`` are taken for those of that one.
        """
        return self._chosen(admitted_of(sizes, {**self.inputs, **other}, late, last))

    def mask(self, keys: Admitted) -> NDArray[np.bool_]:
        key = np.arange(self.sizes.t)
        return np.asarray((key >= keys.first) & (key < keys.end))


def mistakes(known: KnownQueries) -> Iterator[RowMistake]:
    """Yield what defects make of the queries, the likely ones first."""
    every = _QueryMistakes(known)
    yield from every.pages()
    yield from every.sequences()
    yield from every.masks()
    yield from every.heads()
    yield from every.scales_of_heads()
    yield from every.tiles()
    yield from every.rescaled()
    yield from every.slices()
    yield from every.scales()
    yield from every.columns()
    yield from every.layouts()


class _QueryMistakes:
    def __init__(self, known: KnownQueries) -> None:
        self.known, self.sizes, self.stated = known, known.sizes, known.stated
        self.keys, self.own = known.keys(known.stated), known.in_sequences
        tile = known.scene.tile
        self.key_tiles = KEY_TILES if tile is None else (tile[1], *KEY_TILES)
        self.query_tiles = QUERY_TILES if tile is None else (tile[0], *QUERY_TILES)

    def made(self, text: str, kind: str = "other", operand: str = "", **other: Any) -> RowMistake:
        """Return the mistake of other logits ``x``, admitted ``keys`` or values ``v``."""
        keys = other.get("keys", self.keys)
        softmax = KeySoftmax.of(other.get("x", self.known.x), self.known.mask(keys))
        values = np.einsum("rt,rtd->rd", softmax.powers, other.get("v", self.known.v))
        return RowMistake(text, {"o": softmax.over(values), "lse": softmax.lse}, kind, operand)

    def masks(self) -> Iterator[RowMistake]:
        known, stated, first, end = self.known, self.stated, self.keys.first, self.keys.end
        later = np.minimum(end + 1, self.sizes.t)
        yield self.made("a key more than each query admits is let in", keys=Admitted(first, later))
        yield self.made("the last admitted key of each query is left out", "k_tail", keys=Admitted(first, end - 1))
        if stated.mask is KeyMask.WINDOW:
            yield self.made("a key before the window is let in", keys=Admitted(np.maximum(first - 1, 0), end))
            narrow = Admitted(np.where(first > self.own.first_key, first + 1, first), end)
            yield self.made("the first key of the window is left out", "k_tail", keys=narrow)
            wide = known.keys(replace(stated, mask=KeyMask.CAUSAL, w=1))
            yield self.made("the window is left out: all earlier keys are let in", keys=wide)
        if stated.mask is not KeyMask.FULL:
            text = "the mask is left out: later keys are let in"
            yield self.made(text, keys=known.keys(replace(stated, mask=KeyMask.FULL, w=1)))
            rows = Rows.of(stated, known.inputs)
            shift = (rows.end_query - rows.first_query) - (rows.end_key - rows.first_key)
            for late, words in ((shift, "begins at the first key"), (1, "is a key late")):
                yield self.made(f"the diagonal of the mask {words}", keys=known.keys(stated, late))
        if stated.padded:
            lengths = np.full(stated.b, known.inputs["lengths"][0])
            yield self.made("the length of batch 0 is taken for all", keys=known.keys(stated, lengths=lengths))
            text = "the padding is left out: padded keys are let in"
            yield self.made(text, keys=known.keys(stated, lengths=np.full(stated.b, stated.t)))
            yield self.made("all masks are left out", keys=Admitted(first * 0, end * 0 + stated.t))
        origin, most = self.own.first_key, self.own.end_key
        for tile in dict.fromkeys(self.key_tiles):
            up = np.where(end > first, np.minimum(origin - (origin - end) // tile * tile, most), end)
            yield self.made(f"masked keys in the last tile of {tile} are let in", keys=Admitted(first, up))

    def sequences(self) -> Iterator[RowMistake]:
        """Yield keys of packed sequences that begin elsewhere."""
        if not self.stated.packed:
            return
        queries, keys = (self.known.inputs[f"cu_seqlens_{one}"] for one in "qk")
        last = keys[-1:]
        empty = next((number for number, here in enumerate(np.diff(queries)) if not here), None)
        for last_known in range(self.stated.b - 1):
            text = f"queries of sequences past {last_known} are taken for those of sequence {last_known}"
            text += ", which is empty" * (last_known == empty)
            yield self.made(text, "wrong_image", keys=self.known.keys(self.stated, last=last_known))
        mistakes = (
            ("the keys of the next sequence are read", {"cu_seqlens_k": np.concatenate([keys[1:], last])}),
            ("the keys of the sequence before are read", {"cu_seqlens_k": np.concatenate([keys[:1], keys[:-1]])}),
            ("cu_seqlens_q is taken for cu_seqlens_k", {"cu_seqlens_k": np.minimum(queries, last)}),
            ("cu_seqlens_k is taken for cu_seqlens_q", {"cu_seqlens_q": keys}),
            ("the keys of each sequence begin a key late", {"cu_seqlens_k": np.minimum(keys + 1, last)}),
            ("the keys of each sequence begin a key early", {"cu_seqlens_k": np.maximum(keys - 1, 0)}),
            ("the queries of each sequence begin a query late", {"cu_seqlens_q": queries + 1}),
            ("the queries of each sequence begin a query early", {"cu_seqlens_q": queries - 1}),
        )
        for text, other in mistakes:
            yield self.made(text, "wrong_image", keys=self.known.keys(self.stated, **other))
        first, end = self.keys.first, self.keys.end
        past, before = end * 0 + self.sizes.t, first * 0
        yield self.made("keys of later sequences are let in", "wrong_image", keys=Admitted(first, past))
        yield self.made("keys of earlier sequences are let in", "wrong_image", keys=Admitted(before, end))
        yield self.made("the keys of all sequences are let in", "wrong_image", keys=Admitted(before, past))

    def pages(self) -> Iterator[RowMistake]:
        """Yield pages other than those of the table, and keys past the last one in its page."""
        known, stated = self.known, self.stated
        if not stated.paged:
            return
        first, end, size = self.keys.first, self.keys.end, stated.p
        length = known.inputs.get("lengths", np.full(stated.b, stated.t))[known.place[0]][:, None]
        whole, masked = -(-length // size) * size, known.keys(replace(stated, padded=False)).end
        up = whole if stated.mask is KeyMask.FULL else np.minimum(masked, whole)
        yield self.made("the tail of the last page is let in", keys=Admitted(first, up))
        yield self.made("the last page is left out", "k_tail", keys=Admitted(first, (end - 1) // size * size))
        table = known.inputs["page_table"]
        flat = table.reshape(-1)
        tables = (
            ("one entry late", np.append(flat[1:], flat[-1]).reshape(table.shape)),
            ("one entry early", np.append(flat[0], flat[:-1]).reshape(table.shape)),
            ("of the next batch", np.roll(table, -1, axis=0)),
            ("of batch 0", np.broadcast_to(table[0], table.shape)),
            ("not at all: pages are read in their order", np.arange(table.size).reshape(table.shape)),
        )
        for words, other in tables:
            cells = Dense.of(stated, {**known.inputs, "page_table": other}).cells
            x, v = known.logits(known.group, cells=cells), known.heads("v", known.group, cells)
            yield self.made(f"the page table is read {words}", "operand", x=x, v=v)
            yield self.made(f"of keys the page table is read {words}", "operand", x=x)
            yield self.made(f"of values the page table is read {words}", "operand", v=v)

    def other_heads(self) -> Sequence[tuple[str, NDArray[np.intp]]]:
        """Return words for heads of keys that a query's may be taken for, and these heads."""
        known, keys = self.known, self.sizes.kv
        head = known.place[1]
        if keys == 1:
            return ()
        return (
            ("the head modulo their number", head % keys),
            ("head 0", head * 0),
            (OWN_HEAD, np.minimum(head, keys - 1)),
            ("the next head", (known.group + 1) % keys),
        )

    def heads(self) -> Iterator[RowMistake]:
        known = self.known
        for words, group in self.other_heads():
            x, v = known.logits(group), known.heads("v", group)
            yield self.made(f"keys and values are of {words}", "wrong_group", x=x, v=v)
            yield self.made(f"keys are of {words}", "wrong_group", x=x)
            yield self.made(f"values are of {words}", "wrong_group", v=v)
        yield self.made("the values of the next key are read", "operand", v=np.roll(known.v, -1, axis=1))
        yield self.made("the values of the key before are read", "operand", v=np.roll(known.v, 1, axis=1))

    def scales_of_heads(self) -> Iterator[RowMistake]:
        """Yield scales of keys and values other than those of their heads."""
        known, stated = self.known, self.stated
        if not stated.scaled:
            return
        group = known.group
        key, value = (known.inputs[f"{role}_scale"] for role in ("k", "v"))
        none, x, v = np.ones_like(key), known.x, known.v
        ways = (
            ("the scale of keys is taken for values", key, key),
            ("the scale of values is taken for keys", value, value),
            ("the scales of keys and values are swapped", value, key),
            ("the scale of values is left out", key, none),
            ("the scale of keys is left out", none, value),
            ("no scale is taken", none, none),
        )
        for text, of_keys, of_values in ways:
            of_x = (of_keys / key)[group][:, None]
            of_v = (of_values / value)[group][:, None, None]
            yield self.made(text, x=x * of_x, v=v * of_v)
        for words, head in self.other_heads():
            yield from self._scaled_by(words, key[head], value[head])
        more, own = self.sizes.h - self.sizes.kv, known.place[1]
        for past in PAST_THE_END if more else ():
            of_heads = (np.append(scale, np.repeat(past, more))[own] for scale in (key, value))
            yield from self._scaled_by(OWN_HEAD, *of_heads)

    def _scaled_by(self, words: str, key: Floats, value: Floats) -> Iterator[RowMistake]:
        """Yield the scales of other heads, which are given for each query: of keys, of values, and of both."""
        known, group = self.known, self.known.group
        of_x = (key / known.inputs["k_scale"][group])[:, None]
        of_v = (value / known.inputs["v_scale"][group])[:, None, None]
        text = f"the scales of {words} are taken"
        yield self.made(text, "wrong_group", x=known.x * of_x, v=known.v * of_v)
        yield self.made(f"of keys {text}", "wrong_group", x=known.x * of_x)
        yield self.made(f"of values {text}", "wrong_group", v=known.v * of_v)

    def blocks(self) -> Iterator[tuple[str, int, Ints, Ints]]:
        """Yield tiles of queries and keys in words, keys of a tile, and the first and last key of a query's block.

        They count in its sequence.
        """
        every = admitted_of(self.stated, self.known.inputs)
        batch, query = self.known.place[0], self.known.place[2]
        begin, end, origin = self.own.first_query[:, 0], self.own.end_query[:, 0], self.own.first_key
        for queries in dict.fromkeys(self.query_tiles):
            start = begin + (query - begin) // queries * queries
            last = np.minimum(start + queries, end) - 1
            for keys in dict.fromkeys(self.key_tiles):
                first = every.first[batch, start][:, None] - origin
                yield f"{keys} keys", keys, first // keys * keys, every.end[batch, last][:, None] - origin

    def tiles(self) -> Iterator[RowMistake]:
        first, end, origin = self.keys.first, self.keys.end, self.own.first_key
        for words, keys, begin, last in self.blocks():
            whole = np.minimum(end, origin + np.maximum(-(-last // keys) - 1, 0) * keys)
            yield self.made(f"the last tile of {words} is left out", "k_tail", keys=Admitted(first, whole))
            full = np.minimum(end, origin + last // keys * keys)
            text = f"the last tile of {words}, which is not whole, is left out"
            yield self.made(text, "k_tail", keys=Admitted(first, full))
            later = np.maximum(first, origin + begin + keys)
            yield self.made(f"the first tile of {words} is left out", "k_tail", keys=Admitted(later, end))

    def parts(self, edges: Ints) -> tuple[Floats, Floats, Floats]:
        """Return maxima, sums of powers and of values of parts that begin at ``edges``, shape (queries, parts)."""
        is_in = self.known.mask(self.keys)
        x = np.where(is_in, self.known.x, -np.inf)
        key = np.arange(self.sizes.t)
        part = (key[None, :, None] >= edges[:, None, :]).sum(axis=2) - 1
        member = part[:, None, :] == np.arange(edges.shape[1])[None, :, None]
        tops = np.max(np.where(member, x[:, None, :], -np.inf), axis=2)
        with np.errstate(invalid="ignore"):
            powers = np.where(member & is_in[:, None, :], np.exp(x[:, None, :] - tops[:, :, None]), 0.0)
        return tops, powers.sum(axis=2), np.einsum("rpt,rtd->rpd", powers, self.known.v)

    def rescaled(self) -> Iterator[RowMistake]:
        """Yield sums that were not rescaled when a maximum grew from a tile to the next."""
        for keys in dict.fromkeys(self.key_tiles):
            edges = np.arange(0, self.sizes.t, keys)[None, :] + self.own.first_key
            tops, sums, values = self.parts(edges)
            grown = np.maximum.accumulate(tops, axis=1)
            with np.errstate(invalid="ignore"):
                stale = np.nan_to_num(np.exp(tops - grown))  # at the maximum of its time
                right = np.nan_to_num(np.exp(tops - grown[:, -1:]))
            text = f"is not rescaled when a maximum grows, every {keys} keys"
            o = {one: (values * way[:, :, None]).sum(axis=1) for one, way in (("stale", stale), ("right", right))}
            total = {one: (sums * way).sum(axis=1, keepdims=True) for one, way in (("stale", stale), ("right", right))}
            for words, above, below in (
                ("the sum of values", "stale", "right"),
                ("the sum of powers", "right", "stale"),
                ("neither sum of values nor of powers", "stale", "stale"),
            ):
                yield self._over(f"{words} {text}", o[above], total[below], grown[:, -1:])

    def slices(self) -> Iterator[RowMistake]:
        """Yield slices of the keys that met without their maxima, and those that were left out."""
        for words, keys, begin, last in self.blocks():
            tiles = -(-last // keys) - begin // keys
            for count in SLICES:
                each = -(-tiles // count)
                edges = self.own.first_key + begin + np.arange(count) * each * keys
                tops, sums, values = self.parts(edges)
                top = tops.max(axis=1, keepdims=True)
                text = f"{count} slices in tiles of {words} meet without being rescaled to the common maximum"
                yield self._over(text, values.sum(axis=1), sums.sum(axis=1, keepdims=True), top)
                with np.errstate(invalid="ignore"):
                    right = np.nan_to_num(np.exp(tops - top))
                scaled = (values * right[:, :, None]).sum(axis=1)
                text = f"the sums of powers of {count} slices in tiles of {words} meet without being rescaled"
                yield self._over(text, scaled, sums.sum(axis=1, keepdims=True), top)
                text = f"the sums of values of {count} slices in tiles of {words} meet without being rescaled"
                yield self._over(text, values.sum(axis=1), (sums * right).sum(axis=1, keepdims=True), top)

    def _over(self, text: str, values: Floats, sums: Floats, top: Floats) -> RowMistake:
        with np.errstate(divide="ignore", invalid="ignore"):
            lse = (top + np.log(sums))[:, 0]
            return RowMistake(text, {"o": np.where(sums > 0, values / sums, 0.0), "lse": lse})

    def scales(self) -> Iterator[RowMistake]:
        x, head = self.known.x, self.sizes.d
        for scale, words in SCALES:
            yield self.made(f"the logits are scaled by {words}", x=x * scale)
        yield self.made("the logits are not divided by the root of d", x=x * np.sqrt(head))
        yield self.made("the logits are divided by d, not by its root", x=x / np.sqrt(head))
        for other in (64, 128, 256, 32):
            text = f"the logits are scaled as those of a head of {other} columns"
            yield self.made(text, x=x * np.sqrt(head / other))
        softmax = KeySoftmax.of(x, self.known.mask(self.keys))
        values = np.einsum("rt,rtd->rd", softmax.powers, self.known.v)
        yield RowMistake("the values are not divided by the sum of powers", {"o": values})
        yield RowMistake("lse is a logarithm to base 2", {"lse": softmax.lse / np.log(2)})
        with np.errstate(divide="ignore"):
            text = "lse is the largest logit plus a logarithm to base 2 of the sum of powers"
            yield RowMistake(text, {"lse": (softmax.top + np.log2(softmax.sums))[:, 0]})
            for factor, words in ((np.log(2), "ln 2"), (1 / np.log(2), "log2 e")):
                text = f"lse multiplies the largest logit by {words}, as one to another base than the logarithm"
                yield RowMistake(text, {"lse": (softmax.top * factor + np.log(softmax.sums))[:, 0]})
            yield RowMistake("lse lacks the largest logit", {"lse": np.log(softmax.sums)[:, 0]})

    def columns(self) -> Iterator[RowMistake]:
        """Yield logits that lack the end of each head, or count keys past the last one as zeros."""
        head = self.sizes.d
        ends = {
            head - 1: "the last column",
            **{head - head % one: f"the last columns past {one}s" for one in COLUMN_TILES},
        }
        for end, words in ends.items():
            if 0 < end < head:
                text = f"{words} of each head is missing from the logits"
                yield self.made(text, "k_tail", x=self.known.logits(self.known.group, end))
        softmax = KeySoftmax.of(self.known.x, self.known.mask(self.keys))
        values = np.einsum("rt,rtd->rd", softmax.powers, self.known.v)
        for keys in dict.fromkeys(self.key_tiles):
            more = -(self.own.end_key - self.own.first_key) % keys
            if more.any():
                top = np.maximum(softmax.top, 0.0)
                with np.errstate(invalid="ignore"):
                    factor = np.exp(softmax.top - top)
                sums = softmax.sums * factor + more * np.exp(-top)
                text = f"keys past the last one count as zeros in tiles of {keys}"
                yield self._over(text, values * factor, sums, top)

    def layouts(self) -> Iterator[RowMistake]:
        """Yield an operand that is read with other strides."""
        known = self.known
        is_in = known.mask(self.keys)
        for role, walk, read in read_otherwise(known.scene, "q", "k", "v"):
            cells = Dense.of(self.stated, {**known.inputs, role: read}, held=True).cells
            other = {}
            if role == "v":  # masked keys count for nothing, though nothing was written to their pages
                other["v"] = np.where(is_in[:, :, None], known.heads("v", known.group, cells), 0.0)
            x = known.logits(known.group, cells=cells, q=cells["q"][known.place])
            yield self.made(walk.text, "operand", role if walk.is_likely else "", x=x, **other)
