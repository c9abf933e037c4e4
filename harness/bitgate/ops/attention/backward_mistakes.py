"""Mistakes of attention's backward pass: what a defect makes of whole gradients, recomputed and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.sized import SizedProblem
from bitgate.ops.attention.admitted import products
from bitgate.ops.attention.attention import Admitted, Floats, KeyMask, KeySoftmax, admitted, logits
from bitgate.ops.attention.backward import Slopes, over_queries
from bitgate.verify.diagnose.layouts import read_otherwise
from bitgate.verify.diagnose.row_mistakes import KnownRows, RowMistake

MOST_WORK_OF_STEPS = 1 << 20
"""Products of a query and a key, times the head size, of problems whose operands are also read by other steps."""
TILES = (32, 64, 128, 16)
"""Keys, or queries, that kernels take at once, tried where an instance does not say."""


@dataclass(frozen=True)
class KnownGradients(KnownRows):
    """Some rows of a gradient."""

    @property
    def terms(self) -> int:
        return int(self.scene.problem.sizes.t + self.scene.problem.sizes.s)

    def by_row(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(-1, array.shape[-1])

    def _slack(self, values: Floats) -> Floats:
        dtype = self.scene.dtype
        own = (0.0 if dtype.bytes > 2 else 2.0 ** (1 - dtype.mantissa)) + 8 * self.terms * 2.0**-24
        return np.asarray(super()._slack(values) + own * np.abs(values).max(initial=0.0))


def mistakes(known: KnownGradients) -> Iterator[RowMistake]:
    """Yield what defects make of the gradients, the likely ones first."""
    every = _GradientMistakes(known)
    yield from every.masks()
    yield from every.scales()
    yield from every.slopes()
    yield from every.heads()
    yield from every.one_sided()
    yield from every.tiles()
    yield from every.layouts()


class _GradientMistakes:
    def __init__(self, known: KnownGradients) -> None:
        self.known = known
        problem: SizedProblem = known.scene.problem
        self.sizes = problem.sizes
        self.inputs = {role: np.asarray(cells, np.float64) for role, cells in known.scene.inputs.items()}
        self.x, self.lengths = logits(self.sizes, self.inputs), self.inputs.get("lengths")
        self.keys = admitted(self.sizes, self.lengths)
        self.group = self.sizes.h // self.sizes.kv
        tile = known.scene.tile
        self.each = tuple(dict.fromkeys(TILES if tile is None else (tile[1], *TILES)))

    @cached_property
    def softmax(self) -> KeySoftmax:
        return KeySoftmax.of(self.x, self.keys.mask(self.sizes.t))

    @cached_property
    def dp(self) -> Floats:
        return products(self.sizes, self.inputs["do"], self.inputs["v"])

    @cached_property
    def right(self) -> Slopes:
        return Slopes.of(self.sizes, self.inputs, self.x, self.keys.mask(self.sizes.t))

    @cached_property
    def delta(self) -> Floats:
        return np.asarray((self.right.p * self.dp).sum(axis=3, keepdims=True))

    @property
    def first_length(self) -> int:
        return int(self.inputs["lengths"][0])

    def of(self, text: str, outputs: Mapping[str, Floats], kind: str = "other", operand: str = "") -> RowMistake:
        """Return the mistake of gradients, of which the scene's rows are taken."""
        role = self.known.scene.role
        own = {role: self.known.by_row(outputs[role])[self.known.rows]} if role in outputs else {}
        return RowMistake(text, own, kind, operand)

    def summed(self, text: str, p: Floats, ds: Floats, kind: str = "other") -> RowMistake:
        return self.of(text, Slopes(p, ds).gradients(self.sizes, self.inputs), kind)

    def made(self, text: str, of: Admitted | None = None, x: Floats | None = None) -> RowMistake:
        """Return the mistake of other admitted keys, or logits, in all that follows from them."""
        is_in = (self.keys if of is None else of).mask(self.sizes.t)
        slopes = Slopes.of(self.sizes, self.inputs, self.x if x is None else x, is_in)
        return self.summed(text, slopes.p, slopes.ds)

    def alone(self, text: str, is_in: NDArray[np.bool_], lse: Floats | None = None, delta: Floats | None = None,
              kind: str = "other") -> RowMistake:  # fmt: skip
        """Return the mistake of other keys, or statistics, in one gradient: sums of weights are of the right keys."""
        known = self.softmax.lse[..., None] if lse is None else lse
        with np.errstate(over="ignore", invalid="ignore"):
            p = np.where(is_in, np.exp(self.x - known), 0.0)
            return self.summed(text, p, p * (self.dp - (self.delta if delta is None else delta)), kind)

    def masks(self) -> Iterator[RowMistake]:
        for words, keys in self.other_keys():
            yield self.made(words, keys)

    def other_keys(self) -> Iterator[tuple[str, Admitted]]:
        sizes, first, end = self.sizes, self.keys.first, self.keys.end
        later = Admitted(first, np.minimum(end + 1, sizes.t))
        yield "a key more than each query admits is let in", later
        yield "the last admitted key of each query is left out", Admitted(first, end - 1)
        if sizes.mask is KeyMask.WINDOW:
            wide = admitted(replace(sizes, mask=KeyMask.CAUSAL, w=1), self.lengths)
            yield "the window is left out: all earlier keys are let in", wide
        if sizes.mask is not KeyMask.FULL:
            full = admitted(replace(sizes, mask=KeyMask.FULL, w=1), self.lengths)
            yield "the mask is left out: later keys are let in", full
        if sizes.padded:
            yield "the padding is left out: padded keys are let in", admitted(sizes)
            yield "the length of batch 0 is taken for all", admitted(sizes, np.full(sizes.b, self.first_length))
        for tile in self.each:
            up = np.where(end > first, np.minimum(-(-end // tile) * tile, sizes.t), end)
            yield f"masked keys in the last tile of {tile} are let in", Admitted(first, up)

    def scales(self) -> Iterator[RowMistake]:
        gradients, root = self.right.gradients(self.sizes, self.inputs), np.sqrt(self.sizes.d)
        scaled = ("dq", "dk")
        yield self.of("the scale of the logits is left out", {role: gradients[role] * root for role in scaled})
        yield self.of("the scale of the logits is taken twice", {role: gradients[role] / root for role in scaled})
        yield self.of("dv is multiplied by the scale of the logits", {"dv": gradients["dv"] / root})
        yield self.made("the logits are scaled by ln 2: powers of 2 without log2 e", x=self.x * np.log(2))
        yield self.made("the logits are scaled by 1.1", x=self.x * 1.1)

    def slopes(self) -> Iterator[RowMistake]:
        p, ds, sums = self.right.p, self.right.ds, self.softmax.sums
        yield self.summed("the sum of p dp is not subtracted from the slopes", p, p * self.dp)
        yield self.summed("the weights are not divided by the sum of powers", p * sums, ds * sums)
        text = "dv is the sum of slopes times do, not of weights"
        yield self.of(text, {"dv": over_queries(self.sizes, ds, self.inputs["do"])})
        text = "lse, a natural logarithm, is taken as one to base 2"
        yield self.alone(text, self.keys.mask(self.sizes.t), self.softmax.lse[..., None] * np.log(2))

    def heads(self) -> Iterator[RowMistake]:
        sizes, number = self.sizes, np.arange(self.sizes.h)
        for words, head in (("first", 0), ("last", self.group - 1)) if self.group > 1 else ():
            shared = (number % self.group == head)[None, :, None, None]
            alone = Slopes(self.right.p * shared, self.right.ds * shared).gradients(sizes, self.inputs)
            text = f"only the {words} of the query heads that share keys is summed"
            yield self.of(text, {role: alone[role] for role in ("dk", "dv")}, "wrong_group")
        if self.group > 1:
            first = number // self.group * self.group
            lse, is_in = self.softmax.lse[:, first, :, None], self.keys.mask(sizes.t)
            text = "largest logits and sums are of the first query head that shares keys"
            yield self.alone(text, is_in, lse, self.delta[:, first], "wrong_group")
            data = {**self.inputs, "do": self.inputs["do"][:, first]}
            ds = self.right.p * (products(sizes, data["do"], data["v"]) - self.delta)
            found = Slopes(self.right.p, ds).gradients(sizes, data)
            text = "do is that of the first query head that shares keys"
            yield self.of(text, {role: found[role] for role in ("dk", "dv")}, "wrong_group")
        if sizes.kv > 1 and self.group > 1:
            order = np.argsort(number % sizes.kv, kind="stable")
            data = {role: self.inputs[role][:, order] if role in ("q", "do") else cells
                    for role, cells in self.inputs.items()}  # fmt: skip
            moved = Slopes.of(sizes, data, logits(sizes, data), self.keys.mask(sizes.t)).gradients(sizes, data)
            back = np.argsort(order)
            moved["dq"] = moved["dq"][:, back]
            yield self.of("keys and values are of the head modulo their number", moved, "wrong_group")
            is_in, x = self.keys.mask(sizes.t), logits(sizes, data)[:, back]
            yield self.made("keys of the logits are of the head modulo their number", x=x)
            dp = products(sizes, data["do"], data["v"])[:, back]
            ds = np.where(is_in, self.right.p * (dp - (self.right.p * dp).sum(axis=3, keepdims=True)), 0.0)
            yield self.summed("values are of the head modulo their number", self.right.p, ds, "wrong_group")

    def one_sided(self) -> Iterator[RowMistake]:
        for words, keys in self.other_keys():
            yield self.alone(f"{words}, where sums of powers are right", keys.mask(self.sizes.t))

    def tiles(self) -> Iterator[RowMistake]:
        sizes, is_in, key, query = self.sizes, self.keys.mask(self.sizes.t), np.arange(self.sizes.t), None
        for tile in self.each:
            if sizes.padded:
                late = key // tile * tile >= self.first_length
                text = f"tiles of {tile} keys that begin past the length of batch 0 are left out"
                yield self.alone(text, is_in & ~late, kind="k_tail")
            query = (np.arange(sizes.s) < max(tile, sizes.s // tile * tile))[:, None]
            text = f"the last tile of {tile} queries, which is not whole, is left out"
            yield self.alone(text, is_in & query, kind="k_tail")
            yield from self.ends_of_queries(tile)
            whole = np.where(self.keys.end < tile, self.keys.end, self.keys.end // tile * tile)
            yield self.alone(
                f"the last tile of {tile} keys of each query is left out",
                is_in & (key < whole[:, None, :, None]), kind="k_tail",
            )  # fmt: skip

    def ends_of_queries(self, tile: int) -> Iterator[RowMistake]:
        """Yield a loop over queries that ends a tile of ``tile`` early, or begins one late, for each tile of keys."""
        sizes, is_in = self.sizes, self.keys.mask(self.sizes.t)
        if sizes.mask is KeyMask.FULL:
            return
        query = np.arange(sizes.s)
        for keys in self.each:
            first, last = np.zeros_like(is_in, np.int64), np.zeros_like(is_in, np.int64)
            for begin in range(0, sizes.t, keys):
                admits = is_in[..., begin : begin + keys].any(axis=3)
                most = np.where(admits, query, -1).max(axis=2)
                least = np.where(admits, query, sizes.s).min(axis=2)
                last[..., begin : begin + keys] = most[..., None, None]
                first[..., begin : begin + keys] = least[..., None, None]
            at, words = query[:, None], f"{tile} queries that admit a tile of {keys} keys is left out"
            whole = at < last // tile * tile
            yield self.alone(f"the last tile of {words}", is_in & whole, kind="k_tail")
            # A bound that is one query early loses a tile only where the last query begins one.
            early = at < np.where(last % tile == 0, last, sizes.s)
            yield self.alone(f"where it has one query, the last tile of {words}", is_in & early, kind="k_tail")
            later = at >= (first // tile + 1) * tile
            yield self.alone(f"the first tile of {words}", is_in & later, kind="k_tail")

    def layouts(self) -> Iterator[RowMistake]:
        """Yield an operand that is read with other strides: by every kernel, or where sums of powers are right."""
        is_in = self.keys.mask(self.sizes.t)
        saved = ("o",) if self.sizes.saved else ()
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = self.sizes
            has_steps = sizes.b * sizes.h * sizes.s * sizes.t * sizes.d <= MOST_WORK_OF_STEPS
            roles = ("q", "k", "v", "do", *saved)
            for role, walk, cells in read_otherwise(self.known.scene, *roles, has_steps=has_steps):
                data, text, operand = {**self.inputs, role: cells}, walk.text, role if walk.is_likely else ""
                if role == "o":  # it is read for the sums of p dp alone
                    delta = (cells * data["do"]).sum(axis=3, keepdims=True)
                    ds = np.where(is_in, self.right.p * (self.dp - delta), 0.0)
                    yield self.of(text, Slopes(self.right.p, ds).gradients(self.sizes, data), "operand", operand)
                    continue
                x, dp = logits(self.sizes, data), products(self.sizes, data["do"], data["v"])
                every = Slopes.of(self.sizes, data, x, is_in)
                yield self.of(text, every.gradients(self.sizes, data), "operand", operand)
                p = np.where(is_in, np.exp(x - self.softmax.lse[..., None]), 0.0)
                found = Slopes(p, np.where(is_in, p * (dp - self.delta), 0.0)).gradients(self.sizes, data)
                yield self.of(f"{text}, where sums of powers are right", found, "operand", operand)
