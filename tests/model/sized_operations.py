"""Operations as owners state them: one that is a product, one that is not, one with its own form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import numpy as np

from bitgate.model import Fill
from bitgate.model.form import Form
from bitgate.model.sized import Sized, read, written


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class AttentionSizes:
    b: int
    h: int
    kv: int = 1
    s: int = 8
    causal: bool = False
    side: Side = Side.LEFT


def _flat(problem, seed):
    ones = {role: np.ones(tensor.lengths) for role, tensor in problem.tensors.items() if role != problem.result}
    return {**ones, "k": ones["k"] * (seed + 1)}


class Attention(Sized):
    """No attention, but its sizes: y[b,h,s] = the largest of its head's k, where causal of those up to s."""

    name = "toy_attention"
    sizes = AttentionSizes
    fills = (Fill("flat", "all keys are equal", _flat, exact=True),)

    def check(self, sizes):
        return f"h = {sizes.h} is no multiple of kv = {sizes.kv}" if sizes.h % sizes.kv else None

    def tensors(self, sizes):
        return (
            read("k", b=sizes.b, h=sizes.h, s=sizes.s),
            read("mask", dtype="i8", s=sizes.s),
            written("y", b=sizes.b, h=sizes.h, s=sizes.s),
        )

    def reference(self, problem, inputs):
        k = inputs["k"]
        largest = np.maximum.accumulate(k, axis=2) if problem.sizes.causal else k.max(axis=2, keepdims=True)
        return {"y": np.broadcast_to(largest, k.shape)}

    def bound(self, problem, inputs, accumulation):
        return {"y": np.full(problem.tensors["y"].lengths, 2.0**-accumulation.accumulator.mantissa)}


@dataclass(frozen=True)
class DiagonalSizes:
    n: int


class OnTheDiagonal(Form):
    axes = MappingProxyType({"x": ("n", "m"), "y": ("n",)})
    result = "y"

    def apply(self, arrays):
        return np.diagonal(arrays["x"])


class Diagonal(Sized):
    """y[n] = x[n,n]: linear, and no product over separate axes."""

    name = "toy_diagonal"
    sizes = DiagonalSizes

    def tensors(self, sizes):
        yield read("x", n=sizes.n, m=sizes.n)
        yield written("y", n=sizes.n)

    def form(self, problem):
        return OnTheDiagonal()


class Outer(Sized):
    """y[n,m] = x[n] * w[m]."""

    name = "toy_outer"
    sizes = DiagonalSizes
    is_product = True

    def tensors(self, sizes):
        yield read("x", n=sizes.n)
        yield read("w", m=2 * sizes.n)
        yield written("y", n=sizes.n, m=2 * sizes.n)


@dataclass(frozen=True)
class Rows:
    r: int
    c: int
    biased: bool = False


def _reals(problem, seed):
    rng = np.random.default_rng(seed)
    return {role: rng.random(tensor.lengths, np.float32) for role, tensor in problem.tensors.items() if role != "y"}


class Biased(Sized):
    """y[r] = the sum of x[r,c] over c, and of b[r], which may be absent; naive kernels begin with b."""

    name = "toy_biased"
    sizes = Rows
    fills = (Fill("decimal", "real numbers", _reals),)

    def tensors(self, sizes):
        yield read("x", r=sizes.r, c=sizes.c)
        if sizes.biased:
            yield read("b", r=sizes.r)
        yield written("y", r=sizes.r)

    def reference(self, problem, inputs):
        return {"y": inputs["x"].sum(axis=1) + (inputs["b"] if problem.sizes.biased else 0)}

    def ordered(self, problem, inputs, accumulator):
        sums = inputs["b"].astype(accumulator.numpy) if problem.sizes.biased else 0
        for column in inputs["x"].astype(accumulator.numpy).T:
            sums = sums + column
        return sums


class Transposed(Sized):
    """y[r,c] = x[r,c], of which x lies in memory by columns."""

    name = "toy_transposed"
    sizes = Rows
    is_product = True

    def tensors(self, sizes):
        yield read("x", order="cr", r=sizes.r, c=sizes.c)
        yield written("y", r=sizes.r, c=sizes.c)


OPERATIONS = (Attention(), Diagonal(), Outer(), Biased(), Transposed())
