"""Data of attention: logits with one winner, or equal ones, below every masked key; and real ones.

A query cannot choose the logit of each key freely: with head size d there are d numbers to meet all keys. Keys stand in
tiles of ``digits`` keys each, and a logit is u[tile] + v[digit], in steps of 104 or more: a key holds one entry for its
tile and one for its digit, a query all u and v. Tiles that are masked as a whole get 8, those that are admitted -8. In
the tile where the mask begins v is 1 for masked digits and -1 for others, and u is 0. A winner there gets v = 0. In
another tile it gets u = -3 and v = 3, if its digit is masked where the mask begins: the last digit of a tile always is.
A sliding window has two such tiles. Tiles are then of two or three classes, with a v for each. So do sequences that are
packed: after a tile in which one begins the class is another. All u of a query rise by one number, so that no logarithm
of a sum of powers is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.sized import SizedProblem
from bitgate.numerics import counter
from bitgate.ops.attention.admitted import products
from bitgate.ops.attention.sequences import Rows, admitted_of, dense_sizes, in_pages

Cells = NDArray[Any]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

PEAKED = (
    "one logit of a query is at least 104 above those of other admitted keys, where exp(-104) is 0 in f32, and as much"
    " below those of masked keys: the result is a row of v"
)
FLAT = "a power of two of equal logits, as far above and below the others: the result is a mean of rows of v"

LOW = 104
"""A difference of logits whose power is 0 in f32."""
ONE = 64
"""An entry of a key that stands for its tile or digit."""
EDGE = 64
"""Winners stand on both sides of multiples of it, and every block of as many keys has one."""
LARGEST_VALUE = 63
DIGITS = (16, 32, 64, 8, 4, 128, 2)
"""Keys of a tile that are tried, in this order."""
_BORDER, _INNER, _OUTER, _RAISED, _RISES = 1, -8, 8, 3, (1, 2, -1)
SPREAD, SIZE = 4.0, 2.0**0.5
"""Logits of decimals differ by at most SPREAD; elements of queries and keys are as large as SIZE."""


@dataclass(frozen=True)
class Code:
    """The entries by which keys differ: ``classes`` times ``digits`` of a head, and one for each tile.

    ``apart`` is how many tiles the ends of a window are apart at least; 0 where they may be in one. ``begins`` are the
    first keys of packed sequences, which double the classes.
    """

    keys: int
    digits: int
    classes: int
    apart: int = 0
    begins: tuple[int, ...] = ()

    @property
    def tiles(self) -> int:
        return -(-self.keys // self.digits)

    @property
    def entries(self) -> int:
        return self.classes * self.digits + self.tiles

    @cached_property
    def class_of(self) -> Ints:
        """Return each tile's class: two tiles where the mask begins and ends have different ones."""
        tile = np.arange(self.tiles)
        if not self.begins:
            return np.asarray(tile // max(1, self.apart) % self.classes)
        windows = self.classes // 2
        before = np.searchsorted(np.unique(np.array(self.begins) // self.digits), tile)
        return np.asarray(before % 2 * windows + tile // max(1, self.apart) % windows)


def code_of(problem: SizedProblem) -> Code | None:
    """Return the code of a problem's keys, or None if heads are too small for them."""
    sizes = problem.sizes
    for digits in DIGITS:
        apart = (sizes.w - 1) // digits
        classes = 1 if sizes.mask.value != "window" or sizes.w >= sizes.t else 3 if apart else 2
        code = Code(dense_sizes(sizes).t, digits, classes * (1 + sizes.packed), apart if classes > 1 else 0)
        if code.entries <= sizes.d:
            return code
    return None


def words(seed: int, role: str, *lengths: int) -> Ints:
    """Return random numbers of 31 bits."""
    index = np.arange(int(np.prod(lengths)), dtype=np.uint64).reshape(lengths)
    return np.asarray(counter.words(counter.stream(seed, role), index) >> np.uint64(33)).astype(np.int64)


def real(seed: int, role: str, *lengths: int) -> NDArray[np.float64]:
    """Return real numbers in [-1, 1)."""
    return np.asarray(words(seed, role, *lengths) / 2.0**30 - 1)


def numbers_of(problem: SizedProblem, seed: int) -> dict[str, Ints]:
    """Return what a problem reads of i32: lengths, where packed sequences begin, and the pages of each."""
    sizes, found = problem.sizes, dict[str, Ints]()
    if sizes.packed:
        keys = begins(sizes.b, sizes.t, seed, seed)
        # As many queries as keys attend to themselves; of odd seeds to others, whose number is that by chance.
        is_own = sizes.s == sizes.t and seed % 2 == 0
        queries = keys if is_own else begins(sizes.b, sizes.s, seed, seed + 1)
        found = {"cu_seqlens_q": queries, "cu_seqlens_k": keys}
    if sizes.padded:
        found["lengths"] = lengths_of(sizes, seed)
    if sizes.paged:
        order = np.argsort(words(seed, "pages", sizes.pages), kind="stable")
        found["page_table"] = order[: sizes.b * sizes.table].reshape(sizes.b, sizes.table)
    return found


def scales_of(problem: SizedProblem, seed: int) -> dict[str, Cells]:
    """Return powers of two by which heads of keys and values are scaled; the two of a head differ, and those of heads
    next to each other."""
    sizes = problem.sizes
    if not sizes.scaled:
        return {}
    first, step, apart = words(seed, "scales", 3)
    key = (first + np.arange(sizes.kv) * (1 + step % 4)) % 5
    value = (key + 1 + apart % 4) % 5
    return {"k_scale": 2.0 ** (key - 2), "v_scale": 2.0 ** (value - 2)}


def of_queries(sizes: Any, scales: Mapping[str, Cells]) -> Cells:
    """Return the scale of the keys that each query meets, shape (h, 1, 1)."""
    own = scales.get("k_scale", np.ones(sizes.kv))
    return np.repeat(own, sizes.h // sizes.kv)[:, None, None]


def lengths_of(sizes: Any, seed: int) -> Ints:
    """Return lengths of a padded problem: one short of all, an edge of a tile, all, any, and none."""
    batch = np.arange(sizes.b) + seed
    edge = np.maximum(1, (sizes.t - 1) // EDGE * EDGE + 0 * batch)
    anything = 1 + words(seed, "lengths", sizes.b) % sizes.t
    short, whole = np.full_like(batch, max(1, sizes.t - 1)), np.full_like(batch, sizes.t)
    return np.choose(batch % 5, (short, edge, whole, anything, np.zeros_like(batch)))


def begins(sequences: int, rows: int, seed: int, turn: int) -> Ints:
    """Return where packed sequences begin, and the end of the last: in ``turn`` anywhere, at an edge of a tile, one
    after it, and where the sequence before begins, which then is empty.
    """
    anywhere = np.sort(words(seed, "begins", sequences - 1)) * (rows + 1) >> 31
    edge = np.minimum((anywhere + EDGE // 2) // EDGE * EDGE, rows)
    before = np.concatenate([[0], anywhere[:-1]])[: anywhere.size]
    kind = (np.arange(sequences - 1) + turn) % 4
    cuts = np.choose(kind, (anywhere, edge, np.minimum(edge + 1, rows), before))
    return np.concatenate([[0], np.sort(cuts), [rows]]).astype(np.int64)


@dataclass(frozen=True)
class _Queries:
    """All queries of a problem in a row, (b, h, s), with the keys that each admits.

    ``origin`` is the key from which tiles of its sequence are counted.
    """

    code: Code
    number: Ints
    first: Ints
    end: Ints
    origin: Ints
    random: Ints

    @cached_property
    def starts(self) -> Ints:
        """The first key of each tile, and after the last one where keys end."""
        return np.minimum(np.arange(self.code.tiles + 1) * self.code.digits, self.code.keys)

    @cached_property
    def inner(self) -> Flags:
        """Tiles that are admitted as a whole, shape (queries, tiles)."""
        return np.asarray((self.starts[:-1] >= self.first[:, None]) & (self.starts[1:] <= self.end[:, None]))

    @cached_property
    def outer(self) -> Flags:
        is_none = (self.end <= self.first)[:, None]
        return np.asarray((self.starts[1:] <= self.first[:, None]) | (self.starts[:-1] >= self.end[:, None]) | is_none)

    @cached_property
    def digit_signs(self) -> Ints:
        """1 for digits that are masked where the mask begins or ends in a tile of the class, -1 for others."""
        code, row = self.code, np.arange(self.number.size)
        signs = np.full((row.size, code.classes, code.digits), -_BORDER)
        for tile in (self.first // code.digits, (self.end - 1) // code.digits):
            at = np.clip(tile, 0, code.tiles - 1)
            key = at[:, None] * code.digits + np.arange(code.digits)
            is_masked = (key < self.first[:, None]) | (key >= self.end[:, None])
            is_border = ~(self.inner | self.outer)[row, at]
            own = np.where(is_masked, _BORDER, -_BORDER)
            signs[row[is_border], code.class_of[at[is_border]]] = own[is_border]
        return signs

    @cached_property
    def has_border(self) -> Flags:
        """Classes that have a tile where the mask begins, shape (queries, classes)."""
        is_border = ~(self.inner | self.outer)
        return np.stack([is_border[:, self.code.class_of == one].any(axis=1) for one in range(self.code.classes)], 1)

    def wanted(self, seed: int) -> Ints:
        """Return winners: a third is the last admitted key, a third at an edge of a tile, a third in each block."""
        first, end = self.first - self.origin, self.end - self.origin
        turn, last = self.number // 3, np.maximum(end - 1, first)
        low, high = first // EDGE, last // EDGE
        block = low + turn % (high - low + 1)
        start = np.maximum(block * EDGE, first)
        span = np.maximum(np.minimum(block * EDGE + EDGE, end) - start, 1)
        # The last key of a tile may always win, the first one of the next only where its digit may.
        whole = end // EDGE - low
        after = (low + 1 + turn % np.maximum(whole, 1)) * EDGE
        before = np.where(whole > 0, after - 1, last)
        is_first = (turn // 2 % 2 == 1) & (after <= last)
        is_first &= self.may_win(self.origin + np.minimum(after, last))
        edge = np.where(is_first, after, before)
        return np.asarray(self.origin + np.choose((self.number + seed) % 3, (last, edge, start + self.random % span)))

    def may_win(self, key: Ints) -> Flags:
        """Return whether the digit of a key of each query may win."""
        row, tile = np.arange(self.number.size), np.clip(key // self.code.digits, 0, self.code.tiles - 1)
        return np.asarray(self.allowed(tile)[row, key % self.code.digits])

    def allowed(self, tile: Ints) -> Flags:
        """Return digits that may win in a tile, shape (queries, digits)."""
        row, digits = np.arange(self.number.size), np.arange(self.code.digits)
        kind = self.code.class_of[tile]
        signs, is_inner = self.digit_signs[row, kind], self.inner[row, tile][:, None]
        is_free = is_inner & ~self.has_border[row, kind][:, None]
        is_there = digits < (self.starts[tile + 1] - self.starts[tile])[:, None]
        return np.asarray(is_there & (is_free | np.where(is_inner, signs > 0, signs < 0)))

    def scores(self, seed: int, is_flat: Flags) -> tuple[Ints, Ints]:
        """Return u, shape (queries, tiles), and v, shape (queries, classes, digits)."""
        code, row = self.code, np.arange(self.number.size)
        u = _INNER * self.inner + _OUTER * self.outer
        v = self.digit_signs.copy()
        wins = self.end > self.first
        winner = self.wanted(seed)
        tile = np.clip(winner // code.digits, 0, code.tiles - 1)
        allowed = self.allowed(tile)
        near = np.where(allowed, -np.abs(np.arange(code.digits) - (winner % code.digits)[:, None]), -code.digits)
        digits = np.arange(code.digits) == near.argmax(axis=1)[:, None]
        tiles = np.arange(code.tiles) == tile[:, None]
        from_end = (self.number // 2 % 2 == 1)[:, None]
        digits = np.where(is_flat[:, None], _power_of_two(allowed, from_end), digits)
        is_whole = self.inner & (np.diff(self.starts) == code.digits) & (code.class_of == code.class_of[tile][:, None])
        several = is_flat & is_whole[row, tile]
        tiles = np.where(several[:, None], _power_of_two(is_whole, from_end), tiles)
        is_inner = self.inner[row, tile]
        u = np.where(tiles & (wins & is_inner)[:, None], -_RAISED, u)
        raised = np.where(is_inner, _RAISED, 0)[:, None]
        kind = code.class_of[tile]
        v[row, kind] = np.where(digits & wins[:, None], raised, v[row, kind])
        return u + np.array(_RISES)[self.number % len(_RISES)][:, None], v


def _power_of_two(flags: Flags, from_end: Flags) -> Flags:
    """Return the first, or last, 2^n of the flags that are set, as many as there are."""
    count = flags.sum(axis=1, keepdims=True)
    kept = 1 << (np.frexp(np.maximum(count, 1).astype(np.float64))[1].astype(np.int64) - 1)
    before = np.cumsum(flags, axis=1)
    return np.asarray(flags & np.where(from_end, before > count - kept, before <= kept))


def _places(sizes: Any, seed: int) -> Ints:
    """Return which entry of a head each of a code's entries is, shape (b, kv, d)."""
    return np.argsort(words(seed, "places", sizes.b, sizes.kv, sizes.d), axis=2, kind="stable")


def _keys(sizes: Any, code: Code, places: Ints, seed: int) -> Cells:
    """Return keys: two entries say where each is; what no query reads is noise."""
    key = np.arange(sizes.t)
    tile, digit = key // code.digits, key % code.digits
    cells = words(seed, "noise", sizes.b, sizes.kv, sizes.t, sizes.d) % 9 - 4
    cells[..., : code.entries] = 0
    cells[:, :, key, tile] = ONE
    cells[:, :, key, code.tiles + code.class_of[tile] * code.digits + digit] = ONE
    return np.take_along_axis(cells, np.argsort(places, axis=2)[:, :, None], axis=3)


def _made(problem: SizedProblem, seed: int, parity: int | None) -> Mapping[str, Cells]:
    """Return data of winners (``parity`` 0), of equal logits (1), or of both in turn (None)."""
    code, more = code_of(problem), numbers_of(problem, seed)
    assert code is not None
    if problem.sizes.packed:
        code = replace(code, begins=tuple(more["cu_seqlens_k"][:-1].tolist()))
    keys, rows = admitted_of(problem.sizes, more), Rows.of(problem.sizes, more)
    sizes = dense_sizes(problem.sizes)
    shape = (sizes.b, sizes.h, sizes.s)
    bounds = (keys.first, np.maximum(keys.end, keys.first), rows.first_key)
    first, end, origin = (np.broadcast_to(one[:, None], shape).reshape(-1) for one in bounds)
    head = np.arange(sizes.b * sizes.h)[:, None]
    number = (np.arange(sizes.s) + 7 * head).reshape(-1)
    queries = _Queries(code, number, first, end, origin, words(seed, "winner", *shape).reshape(-1))
    # Each head begins with another kind: of one query a head, too.
    is_flat = (np.arange(sizes.s) + head).reshape(-1) % 2 == 1 if parity is None else np.full(number.size, parity == 1)
    u, v = queries.scores(seed, is_flat)
    scales = scales_of(problem, seed)
    step = 2.0 ** np.ceil(np.log2(LOW * np.sqrt(sizes.d))) / ONE
    cells = np.zeros((number.size, sizes.d))
    cells[:, : code.entries] = step * np.concatenate([u, v.reshape(number.size, -1)], axis=1)
    places = _places(sizes, seed)
    back = np.repeat(np.argsort(places, axis=2), sizes.h // sizes.kv, axis=1)[:, :, None]
    q = np.take_along_axis(cells.reshape(*shape, sizes.d), back, axis=3) / of_queries(sizes, scales)
    found = words(seed, "v", sizes.b, sizes.kv, sizes.t, sizes.d)
    # One sign a column: no mean is 0.
    sign = 1 - 2 * (words(seed, "sign", sizes.b, sizes.kv, 1, sizes.d) % 2)
    largest = min(LARGEST_VALUE, problem.tensors["v"].dtype.exact_integer - 1)
    values = ((1 + found % largest) * sign).astype(np.float64)
    return _stated(
        problem, {"q": q, "k": _keys(sizes, code, places, seed).astype(np.float64), "v": values}, {**more, **scales}
    )


def _stated(problem: SizedProblem, cells: Mapping[str, Cells], more: Mapping[str, Cells]) -> dict[str, Cells]:
    """Return dense cells as the problem states its tensors, and what else it reads."""
    sizes = problem.sizes
    if sizes.paged:
        lengths = more.get("lengths", np.full(sizes.b, sizes.t))
        own = (more["page_table"], lengths, sizes.pages, sizes.p)
        cells = {**cells, **{role: in_pages(cells[role], *own) for role in ("k", "v")}}
    return {role: cell.reshape(problem.tensors[role].lengths) for role, cell in cells.items()} | dict(more)


def peaked(problem: SizedProblem, seed: int) -> Mapping[str, Cells]:
    """Return queries with one winner among the keys, far below every masked key."""
    return _made(problem, seed, 0)


def flat(problem: SizedProblem, seed: int) -> Mapping[str, Cells]:
    """Return queries with a power of two of equal logits, far above the others and below every masked key."""
    return _made(problem, seed, 1)


def both(problem: SizedProblem, seed: int) -> Mapping[str, Cells]:
    """Return queries of both kinds, interleaved."""
    return _made(problem, seed, None)


def decimal(problem: SizedProblem, seed: int) -> Mapping[str, Cells]:
    """Return real numbers, of which logits of a query differ by at most SPREAD."""
    sizes = dense_sizes(problem.sizes)
    q = SIZE * real(seed, "q", sizes.b, sizes.h, sizes.s, sizes.d)
    k = SIZE * real(seed, "k", sizes.b, sizes.kv, sizes.t, sizes.d)
    v = real(seed, "v", sizes.b, sizes.kv, sizes.t, sizes.d)
    x = products(sizes, q, k) * q.dtype.type(1 / np.sqrt(sizes.d))
    spread = np.ptp(x, axis=3)[..., None]
    q = q * (SPREAD / np.maximum(spread, SPREAD))
    # A scale that was rounded, or cut to its exponent, shows.
    scales = {
        role: scale * (1 + np.abs(real(seed, role, sizes.kv)) / 2) for role, scale in scales_of(problem, seed).items()
    }
    q = q / of_queries(sizes, scales)
    return _stated(problem, {"q": q, "k": k, "v": v}, {**numbers_of(problem, seed), **scales})


def is_mean(cells: Mapping[str, Cells], x: Cells, is_in: Flags, top: Cells) -> bool:
    """Return whether sums of values are exact: cells are integers, or these times a scale, and a power of two of each
    query's admitted logits are equal, the others 104 lower.

    The largest sums of products that the fills above make are below 2^24.
    """
    if not all(bool((np.rint(4 * one) == 4 * one).all() and np.abs(one).max() < 2**12) for one in cells.values()):
        return False
    is_top, is_far = is_in & (x == top), x <= top - LOW
    count = is_top.sum(axis=-1)
    return bool((is_top | is_far | ~is_in).all() and ((count & (count - 1)) == 0).all())
