"""How convolutions are drawn for a round of fuzzing, and for what a kernel could meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bitgate.model.space import Bend
from bitgate.model.space.candidates import Ints
from bitgate.model.space.factor import Codes
from bitgate.model.space.quantity import few_or_vectors
from bitgate.ops.convolution.layout import INPUT_LAYOUTS, default_layout, default_weight_layout
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.space.batch import OPERATION_NAMES, Batch
from bitgate.ops.convolution.space.pool import Distribution, draw

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
    """``size`` problems; ``layouts`` are what kernels say they take."""
    names = INPUT_LAYOUTS.values()
    kinds = tuple(sorted({every.index(layout) for layout in layouts for every in names if layout in every}))
    columns = _usual(kinds) if distribution == "usual" else _fuzzed(kinds)
    return draw(direction, seed, size, columns, DISTRIBUTIONS[distribution])


def _usual(kinds: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"layout": kinds, "gap": (0, 0, 1), "numd": (0, 0, 3), "split_k": (1, 1, 1, 2, 4)}


def _fuzzed(kinds: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Mostly what instances say they take."""
    plain = OPERATION_NAMES.index("pass")
    return {
        "layout": (*(kinds * 8), 0, 1, 2),
        "wei_layout": (0,) * 11 + (1,),
        "gap": (0, 0, 0, 1),
        "numd": (plain,) * 6 + tuple(range(len(OPERATION_NAMES))),
        "split_k": (1,) * 8 + (2, 3, 4, -1),
    }


def axis_classes(batch: Batch) -> Codes:
    """Classes of single lengths, axis by axis, which the factors of coverage see only together: (n, columns)."""
    columns: list[Ints] = [np.minimum(batch.n, 4) - 1, few_or_vectors(batch.k), few_or_vectors(batch.c)]
    for axis in (1, 2):
        columns += [np.minimum(getattr(batch, name)[:, axis], 3) - 1 for name in ("stride", "dilation")]
        columns += [np.minimum(getattr(batch, name)[:, axis], 2) for name in ("left_pad", "right_pad")]
        columns += [np.minimum(batch.filter[:, axis], 4) - 1]
        columns += [_length(getattr(batch, name)[:, axis]) for name in ("input", "output")]
    return np.stack(columns, axis=1).astype(np.uint8)


def _length(values: Ints) -> Ints:
    """1, 2, 3, more and even, more and odd."""
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
    return replace(p, layout=default_layout(p.ndim), wei_layout=default_weight_layout(p.ndim))


BENDS: tuple[Bend, ...] = (_plain, _whole_vectors, _pointwise, _dense, _channels_last)
