"""The measures of factors: each function gives every problem of a batch the index of its class."""

from __future__ import annotations

import numpy as np

from bitgate.model import OPERAND_ELEMENTWISE
from bitgate.model.space.candidates import Ints
from bitgate.model.space.factor import Classifier, Constants, select
from bitgate.ops.convolution.problem import Pass
from bitgate.ops.convolution.space.batch import OPERATION_NAMES, Batch, every_axis, product, some_axis


def most(batch: Batch, values: Ints) -> Ints:
    """Return the largest value over the axes in use."""
    return np.asarray(np.where(batch.used, values, 0).max(axis=1))


def differ(batch: Batch, *columns: Ints) -> Ints:
    """Return 1 where one of the columns is not the same on all axes in use."""
    last = [column[:, -1:] for column in columns]
    unequal = [some_axis((column != end) & batch.used) for column, end in zip(columns, last, strict=True)]
    return np.asarray(np.logical_or.reduce(unequal).astype(np.int64))


def path(batch: Batch, constants: Constants) -> Ints:
    """Classify by the structural gate of the flat path (bwd_data), or by the 1x1 specialisations.

    Guards of the flat path (gemms_count, split-N, K % vector) are separate factors: a guard that no case tests is a
    hole, whether or not a given kernel has that guard.
    """
    if batch.direction is Pass.BWD_DATA:
        flat = (batch.ndim == 2) & (batch.g == 1) & (batch.num_d == 0) & (batch.split_k == 1)
        return select(~(flat & (batch.k >= constants.vector)))
    pointwise = (product(batch.filter) == 1) & ((batch.left_pad + batch.right_pad).sum(axis=1) == 0)
    return select(~pointwise, pointwise & (product(batch.stride) > 1))


def operand(column: str) -> Classifier:
    """Return a classifier of an operand's operation: none, then the operations that operands take, in order."""
    codes = [OPERATION_NAMES.index(name) for name in ("pass", *OPERAND_ELEMENTWISE)]

    def classify(batch: Batch, _: Constants) -> Ints:
        return select(*(getattr(batch, column) == code for code in codes[:-1]))

    return classify


def gemms_count(batch: Batch, _: Constants) -> Ints:
    """Classify by the number of sub-GEMMs."""
    count = batch.gemms_count
    dense = product(batch.felt_stride) == 1
    return select((count == 1) & dense, count == 1, count <= 8, count <= 31, count == 32, count == 33, count <= 64)


def never_written(batch: Batch, _: Constants) -> Ints:
    """Classify by the share of dx that no output reaches."""
    share = product(batch.reached) / product(batch.input)
    return select(share == 1, share >= 0.5)


def filter(batch: Batch, _: Constants) -> Ints:
    """Classify by the lengths of the filter."""
    unused = ~batch.used
    return select(
        every_axis(unused | (batch.filter == 1)),
        every_axis(unused | (batch.filter == 3)),
        some_axis(batch.used & (batch.filter % 2 == 0)),
    )


def gcd(batch: Batch, _: Constants) -> Ints:
    """Classify by the common divisor of stride and dilation."""
    common = np.gcd(batch.felt_stride, batch.felt_dilation)
    shared = (common > 1) & (common < batch.felt_stride)
    divides = (common > 1) & (common == batch.felt_stride)
    return select(~some_axis(shared | divides), some_axis(shared))


def pad(batch: Batch, _: Constants) -> Ints:
    """Classify by the pads against the dilated filter."""
    pad = np.maximum(batch.left_pad, batch.right_pad)
    return select(every_axis(pad == 0), every_axis(pad < batch.window))


def stride_image(batch: Batch, _: Constants) -> Ints:
    """Classify by the stride against the image."""
    unused = ~batch.used
    return select(every_axis(unused | (batch.stride < batch.input)), every_axis(unused | (batch.stride <= batch.input)))


def k_slices(batch: Batch, constants: Constants) -> Ints:
    """Classify how split-K divides the K blocks of the deepest sub-GEMM."""
    blocks = -(-batch.gemm[3] // constants.tile[2])
    asked = np.maximum(1, batch.split_k)
    return select(batch.split_k == 1, batch.split_k == -1, asked > blocks, blocks % asked == 0)


def split_n(batch: Batch, constants: Constants) -> Ints:
    """Classify by whether tensors exceed the limit of a launch."""
    whole = batch.largest_bytes
    image = whole // batch.n
    return select(whole <= constants.split_n_bytes, (image <= constants.split_n_bytes) & (batch.n > 1))


def main_loop(batch: Batch, constants: Constants) -> Ints:
    """Classify by whether sub-GEMMs have a main loop."""
    _, _, least, most = batch.gemm
    return select(most <= constants.tile[2], least > constants.tile[2])


def tail(dimension: int) -> Classifier:
    """Return a classifier of a GEMM length against its tile; GemmK counts the sub-GEMM with the most taps."""

    def classify(batch: Batch, constants: Constants) -> Ints:
        length, tile = (batch.gemm[0], batch.gemm[1], batch.gemm[3])[dimension], constants.tile[dimension]
        return select(length % tile == 0, length < tile)

    return classify


def sized(column: str) -> Classifier:
    """Return a classifier of a length against the vector width."""

    def classify(batch: Batch, constants: Constants) -> Ints:
        values: Ints = getattr(batch, column)
        return select(values >= constants.vector, values > 1)

    return classify


def remainder(column: str) -> Classifier:
    """Return a classifier of a length modulo the vector width."""

    def classify(batch: Batch, constants: Constants) -> Ints:
        return np.asarray((getattr(batch, column) % constants.vector != 0).astype(np.int64))

    return classify
