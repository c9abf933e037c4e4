"""Convolutions at random: witnesses, small ones and boundary ones, and candidates for a round of fuzzing.

A combination of factor classes is possible if a witness has it. Constraints between factors thus need no list: they
follow from the maths that every witness obeys. The solver (``solve.py``) hunts for pairs that the draw missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from bitgate.model import OPERAND_ELEMENTWISE
from bitgate.model.space import Bend, Domains
from bitgate.model.space.candidates import Ints
from bitgate.model.space.column import FIELD
from bitgate.model.space.factor import Codes
from bitgate.model.space.quantity import DTYPE_SETS, few_or_vectors
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import OPERATION_NAMES, Batch
from bitgate.ops.convolution.space.steps import AXES

SIZE = 80_000
GEMM_COUNTS = (2, 4, 6, 8, 9, 12, 16, 25, 31, 32, 32, 32, 33, 33, 33, 34, 36, 49, 64, 64, 65, 66, 72, 81)
SPLIT_K = (1, 1, 2, 3, 4, -1)
OPERATIONS = ("pass", "pass", "nd1", "bilinear", "relu")


@dataclass(frozen=True)
class Distribution:
    """The values that a draw prefers: each is taken as often as it is listed.

    ``room`` counts image cells beyond what one output needs, in strides. ``large`` is the share of problems with a
    tensor of about 2 GiB; ``free_pads`` that of problems whose pads are drawn for each side and axis separately.
    """

    groups: tuple[int, ...] = (1, 1, 1, 1, 2, 2, 3, 4, 8, 16, 33)
    images: tuple[int, ...] = (1, 1, 1, 2, 2, 3, 4, 16, 32, 33, 64, 128)
    channels: tuple[int, ...] = (
        *(1, 1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 48, 64),
        *(100, 127, 128, 128, 130, 136, 256),
    )
    filters: tuple[int, ...] = (1, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8)
    strides: tuple[int, ...] = (1, 1, 1, 2, 2, 3, 4, 5, 6, 8)
    dilations: tuple[int, ...] = (1, 1, 1, 1, 2, 2, 3, 4, 6)
    long_filters: tuple[int, ...] = (12, 16, 31, 32, 33, 34, 64, 65, 66)
    room: tuple[int, ...] = (0, 1, 1, 2, 3, 7, 15)
    large: float = 0.05
    free_pads: float = 0.0


WIDE = Distribution()

COLUMN_VALUES: Mapping[str, tuple[int, ...]] = {
    "dtypes": tuple(range(len(DTYPE_SETS) - 1)),
    "layout": (0, 1, 2),
    "wei_layout": (0, 1),
    "numd": tuple(OPERATION_NAMES.index(name) for name in OPERATIONS),
    "gap": (0, 0, 1),
    "split_k": SPLIT_K,
}
"""Values of the columns that a table may leave out, as Batch codes (numd: the operation's)."""

_OPERAND = tuple(OPERATION_NAMES.index(name) for name in ("pass", "pass", *OPERAND_ELEMENTWISE))

PASS_VALUES: Mapping[Pass, Mapping[str, tuple[int, ...]]] = {Pass.FWD: {"in_op": _OPERAND, "wei_op": _OPERAND}}
"""The further columns of one pass."""


def draw(
    direction: Pass,
    seed: int | Sequence[int],
    size: int,
    columns: Mapping[str, tuple[int, ...]],
    mix: Distribution = WIDE,
) -> Batch:
    """Draw ``size`` problems, half of them 2D, from the values of ``columns``; some rows are not ``possible``."""
    rng = np.random.default_rng([*([seed] if isinstance(seed, int) else seed), direction.code])

    def pick(values: Sequence[int], *shape: int) -> Ints:
        return rng.choice(np.array(values, dtype=np.int64), shape or (size,))

    def chance(probability: float, *shape: int) -> Ints:
        return np.asarray(rng.random(shape or (size,)) < probability)

    def per_axis(values: Sequence[int]) -> Ints:
        """Draw the same value on all axes for half of the problems."""
        free, same = pick(values, size, AXES), pick(values, size, 1)
        return np.where(chance(0.5, size, 1), same, free)

    ndim = pick((1, 2, 2, 3))
    used = np.arange(AXES)[None, :] >= (AXES - ndim)[:, None]
    filters, strides, dilations = per_axis(mix.filters), per_axis(mix.strides), per_axis(mix.dilations)
    dilations = np.where(chance(0.06, size, 1), strides, dilations)
    counted = chance(0.25, size, 1)
    f, s, d = _factored(rng, pick(GEMM_COUNTS), ndim)
    filters, strides, dilations = (
        np.where(counted, special, usual) for special, usual in ((f, filters), (s, strides), (d, dilations))
    )
    filters = np.where(chance(0.03, size, AXES), pick(mix.long_filters, size, AXES), filters)
    filters, strides, dilations = (np.where(used, column, 1) for column in (filters, strides, dilations))
    window = (filters - 1) * dilations + 1

    def pads(axes: int) -> Ints:
        """Draw pads: none, one cell, half the window, all but a cell of it, or more.

        They are of the same kind on all axes if ``axes`` is 1.
        """
        kind = pick((0, 0, 1, 1, 2, 3, 4), size, axes)
        values = [0 * window, np.minimum(1, window - 1), window // 2, np.maximum(0, window - 1)]
        return np.where(
            used, np.select([kind == i for i in range(4)], values, window + rng.integers(0, 3, (size, AXES))), 0
        )

    left = pads(1)
    other = np.where(used, rng.integers(0, 4, (size, AXES)), 0)
    right = np.where(chance(0.6, size, 1), left, other)
    if mix.free_pads:
        free = chance(mix.free_pads, size, 1)
        left, right = np.where(free, pads(AXES), left), np.where(free, pads(AXES), right)

    least = np.maximum(1, window - left - right)
    zero = np.zeros_like(window)
    beyond = rng.integers(0, 4, (size, AXES))
    steps = strides * pick(mix.room, size, AXES)
    room = np.choose(pick((0, 1, 1, 2, 3), size, 1), [zero, beyond, steps, beyond + steps])
    inputs = np.where(chance(0.06, size, 1), np.maximum(least, strides), least + room)
    cube = np.where(used, inputs, 0).max(axis=1, keepdims=True)
    inputs = np.where(used, np.where(chance(0.4, size, 1), cube, inputs), 1)

    batch = Batch(
        direction,
        ndim=ndim,
        g=pick(mix.groups),
        n=pick(mix.images),
        k=pick(mix.channels),
        c=pick(mix.channels),
        filter=filters,
        input=inputs,
        stride=strides,
        dilation=dilations,
        left_pad=left,
        right_pad=right,
        gap=zero[:, 0],
        op=zero[:, 0],
        in_op=zero[:, 0],
        wei_op=zero[:, 0],
        dtypes=zero[:, 0],
        layout=zero[:, 0],
        wei_layout=zero[:, 0],
        split_k=np.ones(size, dtype=np.int64),
    )
    batch = batch.with_columns(**{FIELD.get(name, name): pick(values) for name, values in columns.items()})
    return _with_large(batch, rng, mix.large) if mix.large else batch


def _factored(rng: np.random.Generator, count: Ints, ndim: Ints) -> tuple[Ints, Ints, Ints]:
    """Draw filters, strides and dilations with prod min(F, stride / gcd) = count.

    Each axis gets a divisor of what is left, which is then its F or its stride / gcd, the other one being as large or
    larger.
    """
    size = len(count)
    share = np.ones((size, AXES), dtype=np.int64)
    left = count.copy()
    for axis in range(AXES - 1):
        open_ = axis >= AXES - ndim
        divisor = rng.choice(np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 31, 33]), size)
        divisor = np.where(open_ & (left % divisor == 0), divisor, 1)
        share[:, axis] = divisor
        left = left // divisor
    share[:, AXES - 1] = left
    more = rng.choice(np.array([0, 0, 0, 1, 2, 3]), (size, AXES))
    by_filter = rng.random((size, AXES)) < 0.5
    filters = np.where(by_filter, share, share + more)
    tildes = np.where(by_filter, share + more, share)
    common = np.where(rng.random((size, 1)) < 0.25, rng.integers(1, 4, (size, AXES)), 1)
    dilations = np.where(rng.random((size, AXES)) < 0.75, 1, rng.integers(1, 4, (size, AXES)))
    dilations = np.where(np.gcd(dilations, tildes) == 1, dilations, 1)
    return filters, tildes * common, dilations * common


def _with_large(batch: Batch, rng: np.random.Generator, share: float) -> Batch:
    """Give a share of the problems a tensor of about 2 GiB.

    It is due to the number of images, one of the two channel counts, or a long last axis. An equally giant stride then
    keeps the output (and the arithmetic) small.
    """
    size = len(batch)
    chosen = rng.random(size) < share
    goal = rng.choice(np.array([2**31 - 2**20, 2**31, 2**31, 2**31 + 2**20, 2**32]), size)
    bytes_each = np.maximum(1, batch.largest_bytes)
    factor = np.maximum(1, -(-goal // bytes_each))
    exact = (goal == 2**31) & (rng.random(size) < 0.7)
    powers = 2 ** rng.integers(0, 6, size)
    n = np.where(chosen, np.where(exact, powers, batch.n), batch.n)
    how = rng.integers(0, 3, size)
    n = np.where(chosen & (how == 0), np.minimum(batch.n * factor, 2**24), n)
    c = np.where(chosen & (how == 1), np.minimum(batch.c * factor, 2**24), batch.c)
    large = batch.input[:, -1] * factor
    stretch = chosen & (how == 2) & (large < 2**31)
    inputs, strides = batch.input.copy(), batch.stride.copy()
    inputs[:, -1] = np.where(stretch, large, inputs[:, -1])
    strides[:, -1] = np.where(stretch & (rng.random(size) < 0.5), large, strides[:, -1])
    # Exactly 2 GiB: every length of the image tensor a power of two, the batch makes up what is missing.
    c = np.where(chosen & exact, powers, c)
    g = np.where(chosen & exact, 2 ** rng.integers(0, 2, size), batch.g)
    square = 2 ** rng.integers(1, 5, size)
    fits = chosen & exact & (batch.window <= square[:, None] + batch.left_pad + batch.right_pad).all(axis=1)
    inputs = np.where(fits[:, None] & batch.used, square[:, None], inputs)
    strides = np.where(fits[:, None], batch.stride, strides)
    grown = batch.with_columns(n=n, c=c, g=g, input=inputs, stride=strides)
    missing = 2**31 // np.maximum(1, grown.elements[0] * (grown.largest_bytes // np.maximum.reduce(grown.elements)))
    return grown.with_columns(n=np.where(fits, np.clip(grown.n * missing, 1, 2**30), grown.n))


@lru_cache(maxsize=8)
def witnesses(direction: Pass, columns: Domains, size: int = SIZE, seed: int = 1) -> Batch:
    """Return the pool, cheapest problem first, so that the first witness of a combination is a small one."""
    batch = draw(direction, seed, size, dict(columns))
    batch = batch.take(batch.possible)
    return batch.take(np.argsort(batch.cost, kind="stable"))


DISTRIBUTIONS = {
    "tiny": Distribution(
        groups=(1, 1, 1, 2, 2, 3, 4),
        images=(1, 1, 2, 2, 3, 4, 5),
        channels=(1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 15, 16, 16, 17, 24, 31, 32, 33, 40),
        filters=(1, 1, 2, 2, 3, 3, 4, 5),
        strides=(1, 1, 1, 2, 2, 3, 4, 5),
        dilations=(1, 1, 1, 2, 2, 3, 4),
        long_filters=(12, 16, 33),
        room=(0, 0, 1, 1, 2, 3),
        large=0,
        free_pads=0.4,
    ),
    "wide": Distribution(large=0, free_pads=0.4),
    "usual": Distribution(large=0),
}


def candidates(direction: Pass, seed: Sequence[int], size: int, layouts: Sequence[str], distribution: str) -> Batch:
    """Draw ``size`` problems; ``layouts`` are those that kernels take."""
    names = INPUT_LAYOUTS.values()
    kinds = tuple(sorted({every.index(layout) for layout in layouts for every in names if layout in every}))
    columns = _usual(kinds) if distribution == "usual" else _fuzzed(kinds)
    return draw(direction, seed, size, columns, DISTRIBUTIONS[distribution])


def _usual(kinds: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"layout": kinds, "gap": (0, 0, 1), "numd": (0, 0, 3), "split_k": (1, 1, 1, 2, 4)}


def _fuzzed(kinds: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return values that are mostly what instances take."""
    plain = OPERATION_NAMES.index("pass")
    return {
        "layout": (*(kinds * 8), 0, 1, 2),
        "wei_layout": (0,) * 11 + (1,),
        "gap": (0, 0, 0, 1),
        "numd": (plain,) * 6 + tuple(range(len(OPERATION_NAMES))),
        "split_k": (1,) * 8 + (2, 3, 4, -1),
    }


def axis_classes(batch: Batch) -> Codes:
    """Return classes of single lengths, axis by axis, which the factors of coverage see only together: (n, columns)."""
    columns: list[Ints] = [np.minimum(batch.n, 4) - 1, few_or_vectors(batch.k), few_or_vectors(batch.c)]
    for axis in (1, 2):
        columns += [np.minimum(getattr(batch, name)[:, axis], 3) - 1 for name in ("stride", "dilation")]
        columns += [np.minimum(getattr(batch, name)[:, axis], 2) for name in ("left_pad", "right_pad")]
        columns += [np.minimum(batch.filter[:, axis], 4) - 1]
        columns += [_length(getattr(batch, name)[:, axis]) for name in ("input", "output")]
    return np.stack(columns, axis=1).astype(np.uint8)


def _length(values: Ints) -> Ints:
    """Return classes of 1, 2, 3, more and even, more and odd."""
    return np.where(values <= 3, values - 1, 3 + values % 2)


def _plain(p: ConvProblem) -> ConvProblem:
    return replace(p, split_k=1, gap=False, gaps=())


def _whole_vectors(p: ConvProblem) -> ConvProblem:
    return replace(p, k=-(-p.k // 8) * 8, c=-(-p.c // 8) * 8)


def _pointwise(p: ConvProblem) -> ConvProblem:
    return replace(p, filter=(1,) * p.ndim, left_pad=(0,) * p.ndim, right_pad=(0,) * p.ndim)


def _dense(p: ConvProblem) -> ConvProblem:
    return replace(p, stride=(1,) * p.ndim)


def _channels_last(p: ConvProblem) -> ConvProblem:
    return p.changed(layout=default_layout(p.ndim), wei_layout=default_weight_layout(p.ndim))


BENDS: tuple[Bend, ...] = (_plain, _whole_vectors, _pointwise, _dense, _channels_last)
