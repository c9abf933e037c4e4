"""Attention's backward pass: ``attention_bwd_f16_b2h8kv2s64t64d64_causal``.

It reads q, k, v and do, the gradient of o, and writes dq, dk and dv. With p as in the forward pass and dp = do . v:
dv[j] = sum of p do, ds = p (dp - sum over keys of p dp), dq[i] = sum of ds k / sqrt(d), dk[j] = sum of ds q / sqrt(d).
Gradients of keys and values are summed over the query heads that share them. A query that admits no key adds nothing.

With ``saved`` it also reads o and the f32 logarithms lse that the forward pass left, from which p = exp(x - lse) and
the sum of p dp = do . o. The reference takes both anew, so that a kernel may use them or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.fill import Fill, Make
from bitgate.model.numerics import Accumulation, Numerics
from bitgate.model.sized import SizedProblem, StatedTensor, read, written
from bitgate.numerics.rounding import rounded, smallest, smallest_normal
from bitgate.ops.attention import fills
from bitgate.ops.attention.admitted import Apart, KeyMask, admitted, by_group, products
from bitgate.ops.attention.attention import (
    AttentionNumerics,
    Floats,
    KeySoftmax,
    MaskedAttention,
    logits,
    weighted,
    without_subnormals,
)


@dataclass(frozen=True)
class BackwardSizes(Apart):
    """Batch, heads of queries, heads of keys and values, queries, keys, head size, and the keys of a window."""

    b: int
    h: int
    kv: int
    s: int
    t: int
    d: int
    w: int = 1
    mask: KeyMask = KeyMask.FULL
    padded: bool = False
    saved: bool = False


def saved(problem: SizedProblem, data: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return o and lse of the forward pass, of data as tensors hold it."""
    known = {role: rounded(data[role], problem.tensors[role].dtype).astype(np.float64) for role in ("q", "k", "v")}
    is_in = admitted(problem.sizes, data.get("lengths")).mask(problem.sizes.t)
    softmax = KeySoftmax.of(logits(problem.sizes, known), is_in)
    return {"o": softmax.over(weighted(problem.sizes, softmax.powers, known["v"])), "lse": softmax.lse}


def with_gradient(make: Make, is_real: bool = False) -> Make:
    """Return data of the forward pass with a gradient of o: small integers, or real numbers."""

    def made(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
        sizes = problem.sizes
        lengths = (sizes.b, sizes.h, sizes.s, sizes.d)
        small = 1 + fills.words(seed, "do", *lengths) % 3
        sign = 1 - 2 * (fills.words(seed, "do_sign", *lengths) % 2)
        own = fills.real(seed, "do", *lengths) if is_real else (small * sign).astype(np.float64)
        data = make(problem, seed)
        return {**data, "do": own, **(saved(problem, data) if sizes.saved else {})}

    return made


def over_keys(weights: NDArray[Any]) -> NDArray[Any]:
    """Return sums over keys of weights (b, h, s, t), shape (b, h, s, 1)."""
    return np.asarray(weights.sum(axis=3, keepdims=True))


def over_queries(sizes: Any, weights: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return sums over queries, and heads that share keys, of weights (b, h, s, t) times rows (b, h, s, d)."""
    found = np.swapaxes(by_group(sizes, weights), 3, 4) @ by_group(sizes, rows)
    return np.asarray(found.sum(axis=2))


@dataclass(frozen=True)
class Slopes:
    """Weights ``p`` and slopes ``ds`` of logits, shape (b, h, s, t)."""

    p: NDArray[Any]
    ds: NDArray[Any]

    @classmethod
    def of(cls, sizes: Any, inputs: Mapping[str, NDArray[Any]], x: NDArray[Any], is_in: NDArray[np.bool_]) -> Slopes:
        softmax = KeySoftmax.of(x, is_in)
        p = softmax.over(softmax.powers)
        dp = products(sizes, inputs["do"], inputs["v"])
        return cls(p, p * (dp - over_keys(p * dp)))

    def gradients(self, sizes: Any, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        q, k = np.asarray(inputs["q"]), np.asarray(inputs["k"])
        scale = q.dtype.type(1 / np.sqrt(sizes.d))
        return {
            "dq": weighted(sizes, self.ds, k) * scale,
            "dk": over_queries(sizes, self.ds, q) * scale,
            "dv": over_queries(sizes, self.p, np.asarray(inputs["do"])),
        }


class BackwardNumerics(AttentionNumerics):
    """The judging of the backward pass: of winners and equal logits dv alone is exact."""

    claims_bits = False


class AttentionBackward(MaskedAttention):
    """The gradients dq, dk and dv of attention."""

    name = "attention_bwd"
    sizes = BackwardSizes
    groups: Mapping[str, str] = {
        "space": "bitgate.ops.attention.space:AttentionSpace",
        "diagnostics": "bitgate.ops.attention.backward_diagnostics:BackwardDiagnostics",
    }
    fills = (
        Fill("exact", f"queries in turn: {fills.PEAKED}; {fills.FLAT}", with_gradient(fills.both)),
        Fill("peaked", fills.PEAKED, with_gradient(fills.peaked)),
        Fill("flat", fills.FLAT, with_gradient(fills.flat)),
        Fill("decimal", "real logits within 4 of each other", with_gradient(fills.decimal, is_real=True)),
    )

    @cached_property
    def numerics(self) -> Numerics:
        return BackwardNumerics(self)

    def tensors(self, sizes: BackwardSizes) -> Iterator[StatedTensor]:
        for role in ("q", "do"):
            yield read(role, b=sizes.b, h=sizes.h, s=sizes.s, d=sizes.d)
        for role in ("k", "v"):
            yield read(role, b=sizes.b, h=sizes.kv, t=sizes.t, d=sizes.d)
        if sizes.padded:
            yield read("lengths", dtype="i32", b=sizes.b)
        if sizes.saved:
            yield read("o", b=sizes.b, h=sizes.h, s=sizes.s, d=sizes.d)
            yield read("lse", dtype="f32", b=sizes.b, h=sizes.h, s=sizes.s)
        yield written("dq", b=sizes.b, h=sizes.h, s=sizes.s, d=sizes.d)
        for role in ("dk", "dv"):
            yield written(role, b=sizes.b, h=sizes.kv, t=sizes.t, d=sizes.d)

    def reference(self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        sizes = problem.sizes
        is_in = admitted(sizes, inputs.get("lengths")).mask(sizes.t)
        return Slopes.of(sizes, inputs, logits(sizes, inputs), is_in).gradients(sizes, inputs)

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, Floats]:
        """Return bounds in any order of summation, from those of the forward pass.

        A weight p is off by r = 2 e + (6 n + 9 D + 12) u of it, and by one rounding where it is rounded to the type of
        q. A product dp is off by (d + 8) u times A, the sum of |do| |v|. The same error of a weight is in each column
        of o, so that the sum of p dp, taken as do . o or not, is off by r times the sum of p |dp|, and by
        (d + 3 n + 8) u times the sum of p A. A slope ds = p (dp - sum) then is off by r |ds|, and by p times what its
        two differences are off. Sums of slopes and of weights are off by one u for each term, and 2 for the scale.
        Slopes may be rounded to the type of q before they are multiplied. Weights and slopes below its smallest number
        then go by half of that. Where matrix instructions take subnormals for zeros, weights and slopes go by the
        smallest normal number, and what subnormal operands contribute may be missing.

        Of a power of two of equal logits, the others 104 lower, weights and products are exact, and so is dv.

        Where lse is read it is rounded, taken to base 2 and subtracted, which is off by 8 (|largest logit| + log n + 1)
        u: of equal logits weights are off by that. The sum of p dp is then off by the rounding of o, times |do|, too.
        Without lse a kernel may still take weights from a logarithm. Those of 16 bits round to exact ones, so that dv
        is exact, but slopes are made of weights before that.
        """
        sizes = problem.sizes
        operands = [role for role in inputs if role not in ("o", "lse")]
        cells = {role: np.asarray(inputs[role], np.float64) for role in operands}
        keys, unit = admitted(sizes, inputs.get("lengths")), 2.0**-accumulation.accumulator.mantissa
        is_in, x = keys.mask(sizes.t), logits(sizes, cells)
        softmax = KeySoftmax.of(x, is_in)
        p = softmax.over(softmax.powers)
        sizes_of = {role: np.abs(array) for role, array in cells.items()}
        most = np.max(logits(sizes, sizes_of), axis=3, keepdims=True, where=is_in, initial=0.0)
        least = np.min(x, axis=3, keepdims=True, where=is_in, initial=np.inf)
        with np.errstate(invalid="ignore"):
            spread = np.where(keys.none[:, None, :, None], 0.0, softmax.top - least)
        count = np.maximum(keys.end - keys.first, 0)[:, None, :, None]
        narrow = problem.tensors["q"].dtype
        rounding = 2.0**-narrow.mantissa if narrow.bytes < 4 else 0.0
        half = least = smallest(narrow) / 2 if narrow.bytes < 4 else 0.0
        is_mean = fills.is_mean(cells, x, is_in, softmax.top)
        weight = 2 * (sizes.d + 8) * most * unit + (6 * count + 9 * spread + 12) * unit + rounding
        if is_mean:
            weight = np.full_like(weight, rounding if sizes.saved else 0.0)
        if sizes.saved or (is_mean and narrow.bytes < 4):
            with np.errstate(invalid="ignore"):
                high = np.abs(softmax.top) + np.log(np.maximum(softmax.sums, 1.0))
            weight += 8 * unit * (np.where(keys.none[:, None, :, None], 0.0, high) + 1)
        dp, most_dp = products(sizes, cells["do"], cells["v"]), products(sizes, sizes_of["do"], sizes_of["v"])
        apart = np.abs(dp - over_keys(p * dp))
        lost = 0.0
        if accumulation.flushes_subnormals:
            kept, least = without_subnormals(cells, narrow), smallest_normal(narrow)
            of_logits = logits(sizes, sizes_of) - logits(sizes, kept)
            weight += 2 * np.max(of_logits, axis=3, keepdims=True, where=is_in, initial=0.0)
            of_products = most_dp - products(sizes, kept["do"], kept["v"])
            lost = of_products + over_keys(p * of_products)
        of_sum = over_keys((weight * p + half * is_in) * np.abs(dp))
        of_sum += (1 + weight) * (sizes.d + 3 * count + 8) * unit * over_keys(p * most_dp)
        if sizes.saved:
            of_sum += rounding * np.sum(sizes_of["do"] * np.abs(inputs["o"]), axis=3, keepdims=True)
        off = (weight * p + half * is_in) * apart
        off += (1 + weight) * p * ((sizes.d + 8) * unit * most_dp + of_sum + lost)
        off += rounding * (p * apart + off) + least * is_in
        slope = p * apart + off
        terms = sizes.s * sizes.h // sizes.kv
        scale = 1 / np.sqrt(sizes.d)
        found = {
            "dq": scale * weighted(sizes, off + slope * (sizes.t + 2) * unit, sizes_of["k"]),
            "dk": scale * over_queries(sizes, off + slope * (terms + 2) * unit, sizes_of["q"]),
            "dv": over_queries(sizes, p * (weight + terms * unit) + least * is_in, sizes_of["do"]),
        }
        if accumulation.flushes_subnormals:
            gone = {role: sizes_of[role] - kept[role] for role in ("q", "k", "do")}
            found["dq"] += scale * weighted(sizes, slope, gone["k"])
            found["dk"] += scale * over_queries(sizes, slope, gone["q"])
            found["dv"] += over_queries(sizes, p, gone["do"])
        if is_mean and not sizes.saved:
            del found["dv"]
        return found
