"""An owner's operation that writes two tensors: value[r] = sum_c x[r,c], count[r] = how many of them are above zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bitgate.model import Fill
from bitgate.model.sized import Sized, read, written


@dataclass(frozen=True)
class Sizes:
    r: int
    c: int


def whole(problem, seed):
    return {"x": np.random.default_rng(seed).integers(-9, 10, problem.tensors["x"].lengths)}


def real(problem, seed):
    return {"x": np.random.default_rng(seed).standard_normal(problem.tensors["x"].lengths).astype(np.float32)}


class RowCounts(Sized):
    name = "row_counts"
    sizes = Sizes
    fills = (Fill("exact", "sums of small integers", whole, exact=True), Fill("decimal", "real numbers", real))

    def tensors(self, sizes):
        yield read("x", r=sizes.r, c=sizes.c)
        yield written("value", r=sizes.r)
        yield written("count", dtype="i32", r=sizes.r)

    def reference(self, problem, inputs):
        x = inputs["x"]
        return {"value": x.sum(axis=1), "count": (x > 0).sum(axis=1)}

    def bound(self, problem, inputs, accumulation):
        unit = 2.0**-accumulation.accumulator.mantissa
        return {"value": problem.sizes.c * unit * np.abs(inputs["x"]).sum(axis=1)}


OPERATIONS = (RowCounts(),)
