"""Rows times a scale each, and a bias that may be absent, with the place of each row's largest cell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from bitgate.model import Fill
from bitgate.model.sized import Sized, read, written


class Order(Enum):
    ROWS = "rows"
    COLUMNS = "columns"


@dataclass(frozen=True)
class Sizes:
    r: int
    c: int
    biased: bool = False
    order: Order = Order.ROWS


def integers(problem, seed):
    rng = np.random.default_rng(seed)
    read = {role: tensor for role, tensor in problem.tensors.items() if role not in problem.outputs}
    return {role: rng.integers(-4, 5, tensor.lengths) for role, tensor in read.items()}


class ScaledRows(Sized):
    name, sizes = "scaled_rows", Sizes
    fills = (Fill("exact", "sums of few small integers", integers, exact=True),)

    def tensors(self, sizes):
        yield read("x", order="cr" if sizes.order is Order.COLUMNS else "rc", r=sizes.r, c=sizes.c)
        yield read("s", r=sizes.r)
        if sizes.biased:
            yield read("b", c=sizes.c)
        yield written("y", r=sizes.r, c=sizes.c)
        yield written("best", dtype="i32", r=sizes.r)

    def reference(self, problem, inputs):
        y = inputs["x"] * inputs["s"][:, None] + (inputs["b"] if problem.sizes.biased else 0)
        return {"y": y, "best": y.argmax(axis=1)}


OPERATIONS = (ScaledRows(),)
