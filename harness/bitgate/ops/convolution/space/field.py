"""The frequency of a combination among the problems that networks have: the third key of the ranking.

The field is a sample drawn from the weights below, which state how often published vision, speech and video networks
use a value. They are rough on purpose; they only have to separate the everyday from the exotic.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bitgate.model.space import Domains
from bitgate.model.space.candidates import Ints
from bitgate.model.space.column import FIELD
from bitgate.ops.convolution.problem import Pass
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps import AXES

SIZE = 40_000
_SEED = 7

Odds = dict[int, float]

NDIM: Odds = {2: 0.80, 3: 0.15, 1: 0.05}
GROUPS: Odds = {1: 0.85, 2: 0.04, 4: 0.02, 8: 0.02, 32: 0.05, 64: 0.02}
IMAGES: Odds = {1: 0.25, 2: 0.08, 4: 0.07, 8: 0.10, 16: 0.12, 32: 0.16, 64: 0.10, 128: 0.06, 256: 0.06}
CHANNELS: Odds = {
    1: 0.02, 3: 0.05, 4: 0.02, 6: 0.01, 12: 0.02, 16: 0.06, 24: 0.03, 32: 0.09, 36: 0.03, 48: 0.03, 64: 0.15, 96: 0.05,
    100: 0.01, 127: 0.01, 128: 0.15, 192: 0.04, 255: 0.01, 256: 0.14, 512: 0.10, 1000: 0.01, 1024: 0.05, 2048: 0.03,
}  # fmt: skip
FILTERS: Odds = {1: 0.42, 2: 0.04, 3: 0.40, 4: 0.03, 5: 0.05, 7: 0.05, 16: 0.01}
STRIDES: Odds = {1: 0.72, 2: 0.22, 3: 0.01, 4: 0.03, 8: 0.01, 16: 0.01}
DILATIONS: Odds = {1: 0.93, 2: 0.05, 4: 0.01, 6: 0.01}
INPUTS: Odds = {
    1: 0.02, 2: 0.01, 7: 0.13, 13: 0.04, 14: 0.15, 25: 0.05, 28: 0.16, 50: 0.06, 56: 0.16, 100: 0.06, 112: 0.08,
    224: 0.05, 512: 0.03,
}  # fmt: skip
PADDING: Odds = {0: 0.40, 1: 0.50, 2: 0.06, 3: 0.03, 4: 0.01}
"""The kinds of padding.

0 none; 1 half the window; 2 the same total, the right side larger when it is odd; 3 one cell; 4 the whole window.
"""
ISOTROPIC = 0.93
SPLIT_K: Odds = {1: 0.7, -1: 0.1, 2: 0.1, 4: 0.06, 8: 0.04}


@lru_cache(maxsize=4)
def field(direction: Pass, columns: Domains) -> Batch:
    """Return the sample, with the columns that a table leaves out drawn from ``columns`` (Batch codes)."""
    rng = np.random.default_rng(_SEED)

    def pick(weights: Odds, *shape: int) -> Ints:
        values = np.array(list(weights), dtype=np.int64)
        shares = np.array(list(weights.values()))
        return rng.choice(values, shape or (SIZE,), p=shares / shares.sum())

    def per_axis(weights: Odds) -> Ints:
        same = rng.random((SIZE, 1)) < ISOTROPIC
        return np.where(same, pick(weights, SIZE, 1), pick(weights, SIZE, AXES))

    ndim = pick(NDIM)
    used = np.arange(AXES)[None, :] >= (AXES - ndim)[:, None]
    filters, strides, dilations, inputs = (
        np.where(used, per_axis(weights), 1) for weights in (FILTERS, STRIDES, DILATIONS, INPUTS)
    )
    patch = rng.random((SIZE, 1)) < 0.03  # patch embeddings: stride = filter, no padding
    strides = np.where(patch, filters, strides)
    window = (filters - 1) * dilations + 1
    kind = np.where(patch, 0, pick(PADDING, SIZE, 1))
    total = np.maximum(0, window - strides)
    left = np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3], [0 * window, window // 2, total // 2, 0 * window + 1], window
    )
    right = np.where(kind == 2, total - total // 2, left)
    left, right = np.where(used, left, 0), np.where(used, right, 0)
    zero = np.zeros(SIZE, dtype=np.int64)
    g, k, c = pick(GROUPS), pick(CHANNELS), pick(CHANNELS)
    depthwise = (g > 8) & (rng.random(SIZE) < 0.4)
    batch = Batch(
        direction,
        ndim=ndim,
        g=g,
        n=pick(IMAGES),
        k=np.where(depthwise, 1, k),
        c=np.where(depthwise, 1, c),
        filter=filters,
        input=np.maximum(inputs, np.where(used, np.maximum(1, window - left - right), 1)),
        stride=strides,
        dilation=dilations,
        left_pad=left,
        right_pad=right,
        gap=zero,
        op=zero,
        in_op=zero,
        wei_op=zero,
        dtypes=zero,
        layout=zero,
        wei_layout=zero,
        split_k=zero + 1,
    )
    values: dict[str, Ints] = {}
    for name, choices in columns:
        column = rng.choice(np.array(choices, dtype=np.int64), SIZE)
        if name in ("gap", "in_op", "wei_op"):
            column = np.where(rng.random(SIZE) < 0.05, column, min(choices))
        if name == "split_k" and len(choices) > 1:
            column = pick({value: weight for value, weight in SPLIT_K.items() if value in choices} or {choices[0]: 1.0})
        values[FIELD.get(name, name)] = column
    return batch.with_columns(**values)
