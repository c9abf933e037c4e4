"""Attention: ``attention_f16_b2h8kv2s512t512d64_causal``, ``attention_bf16_b1h4kv1s70t70d96w16_window_padded_lse``.

o[b,h,i] is the sum over admitted keys j of p[j] v[b,g,j], where p is the softmax over these keys of the logits
q[b,h,i] . k[b,g,j] / sqrt(d), and g = h / (heads / kv) is the key and value head that h / kv query heads share.

A mask admits all keys (``full``); those up to i + t - s, so that the last query sees all (``causal``); or the last w
of these (``window``). ``padded`` adds the i32 tensor ``lengths``: in batch b only the first lengths[b] keys are
admitted as well. A query that admits no key gets 0. ``lse`` adds the f32 output lse[b,h,i], the logarithm of the sum
of exp(logits): -inf where no key is admitted.

``packed``: b sequences follow each other without padding, s queries and t keys in all. q and o are (h, s, d), k and v
(kv, t, d), lse is (h, s), in memory with a query or key after the other. The i32 tensors ``cu_seqlens_q`` and
``cu_seqlens_k`` (b + 1) say where each sequence begins. A query admits keys of the same sequence, in which a mask
counts as it does in a batch.

``paged``: keys and values are in pages of p keys, k and v are (n, kv, p, d), in memory with a key of a page after the
other. The i32 tensor ``page_table`` (b, m) names the pages of each batch, of which m hold t keys; the last may be
partial. Two pages more than these are unused. What lies past the keys of a batch is not to be read.

``attention_f16_f8ocp_f8ocp_f16_b2h8kv2s1t512d64_full_scaled``: types of q, k, v and o may differ. ``scaled`` adds the
f32 tensors ``k_scale`` and ``v_scale`` (kv), by which the keys and values of each head are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.dtype import Dtype
from bitgate.model.fill import Fill
from bitgate.model.numerics import Accumulation, Measuring, Numerics
from bitgate.model.sized import Sized, SizedProblem, StatedTensor, read
from bitgate.model.sized.numerics import SizedNumerics
from bitgate.numerics.rounding import flushed, smallest_normal
from bitgate.ops.attention import fills
from bitgate.ops.attention.admitted import Admitted, AttentionSizes, Ints, KeyMask, admitted, by_group, products
from bitgate.ops.attention.sequences import Dense

__all__ = ["Admitted", "Attention", "AttentionSizes", "Floats", "Ints", "KeyMask", "KeySoftmax", "admitted", "logits"]

Floats = NDArray[np.float64]


def weighted(sizes: AttentionSizes, weights: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of values under weights (b, h, s, t), shape (b, h, s, d)."""
    found = by_group(sizes, weights) @ v[:, :, None]
    return np.asarray(found.reshape(sizes.b, sizes.h, sizes.s, -1))


@dataclass(frozen=True)
class KeySoftmax:
    """The powers exp(x - top) of admitted logits, with ``top`` and their ``sums`` of shape (..., 1).

    Others are 0, and so are those of logits that are LOW below, as exp(-LOW) is 0 in f32.
    """

    powers: NDArray[Any]
    top: NDArray[Any]
    sums: NDArray[Any]

    @classmethod
    def of(cls, x: NDArray[Any], is_in: NDArray[np.bool_]) -> KeySoftmax:
        top = np.max(x, axis=-1, keepdims=True, where=is_in, initial=-np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            away = x - np.where(np.isfinite(top), top, x.dtype.type(0))
            powers = np.where(is_in & (away > -fills.LOW), np.exp(away), x.dtype.type(0))
        return cls(powers, top, powers.sum(axis=-1, keepdims=True))

    def over(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return weighted values over the sums; 0 where nothing is admitted."""
        return np.asarray(values / np.where(self.sums > 0, self.sums, self.sums.dtype.type(1)))

    @property
    def lse(self) -> NDArray[Any]:
        with np.errstate(divide="ignore"):
            return np.asarray((self.top + np.log(self.sums))[..., 0])


class AttentionNumerics(SizedNumerics):
    """The judging of attention. Bits of a logarithm cannot be claimed, so that with ``lse`` all is bounded."""

    claims_bits = True

    def fills(self, problem: SizedProblem) -> tuple[Fill, ...]:
        own = super().fills(problem)
        if fills.code_of(problem) is None:
            return tuple(fill for fill in own if fill.name == "decimal")
        is_exact = self.claims_bits and not problem.sizes.lse
        return tuple(Fill(fill.name, fill.reason, fill.make, fill.exact and is_exact) for fill in own)

    def terms(self, problem: SizedProblem) -> int:
        """Return the number of keys: each cell of a result depends on all of them."""
        keys: int = problem.sizes.t
        return keys

    def largest_sum(self, problem: SizedProblem, measuring: Measuring) -> float:
        """Return 0: laws make their data exact, so no sum limits them."""
        return 0.0


class MaskedAttention(Sized):
    """The base of both passes: sizes that belong together, and windows that are silent in case ids."""

    silent = ("w", "p")

    def check(self, sizes: Any) -> str | None:
        if sizes.h % sizes.kv:
            return f"h = {sizes.h} is no multiple of kv = {sizes.kv}: each key head serves as many query heads"
        if sizes.w != 1 and sizes.mask is not KeyMask.WINDOW:
            return f"w = {sizes.w} without window: w is how many keys a sliding window admits"
        if sizes.packed and sizes.padded:
            return "packed and padded: cu_seqlens_k says how many keys a packed sequence has"
        if sizes.packed and sizes.paged:
            return "packed and paged: keys in pages are of batches that lie apart"
        if getattr(sizes, "p", 1) != 1 and not sizes.paged:
            return f"p = {sizes.p} without paged: p is how many keys a page has"
        return None


class Attention(MaskedAttention):
    """o = softmax(q k^T / sqrt(d)) v over the keys that a mask admits."""

    name = "attention"
    sizes = AttentionSizes
    groups: Mapping[str, str] = {
        "space": "bitgate.ops.attention.space:AttentionSpace",
        "diagnostics": "bitgate.ops.attention.diagnostics:AttentionDiagnostics",
    }
    fills = (
        Fill("exact", f"queries in turn: {fills.PEAKED}; {fills.FLAT}", fills.both, exact=True),
        Fill("peaked", fills.PEAKED, fills.peaked, exact=True),
        Fill("flat", fills.FLAT, fills.flat, exact=True),
        Fill("decimal", "real logits within 4 of each other, each cell within the bound of its query", fills.decimal),
    )

    @cached_property
    def numerics(self) -> Numerics:
        return AttentionNumerics(self)

    def tensors(self, sizes: AttentionSizes) -> Iterator[StatedTensor]:
        batch = {} if sizes.packed else {"b": sizes.b}
        queries = {**batch, "h": sizes.h, "s": sizes.s}
        keys = {**batch, "h": sizes.kv, "t": sizes.t, "d": sizes.d}
        if sizes.paged:
            keys = {"n": sizes.pages, "h": sizes.kv, "p": sizes.p, "d": sizes.d}
        yield StatedTensor("q", {**queries, "d": sizes.d}, order="shd" * sizes.packed)
        for role in ("k", "v"):
            yield StatedTensor(role, keys, order="thd" * sizes.packed + "nphd" * sizes.paged)
        if sizes.padded:
            yield read("lengths", dtype="i32", b=sizes.b)
        for role in ("cu_seqlens_q", "cu_seqlens_k") if sizes.packed else ():
            yield read(role, dtype="i32", n=sizes.b + 1)
        if sizes.paged:
            yield read("page_table", dtype="i32", b=sizes.b, m=sizes.table)
        for role in ("k_scale", "v_scale") if sizes.scaled else ():
            yield read(role, dtype="f32", h=sizes.kv)
        yield StatedTensor("o", {**queries, "d": sizes.d}, is_written=True, order="shd" * sizes.packed)
        if sizes.lse:
            yield StatedTensor("lse", queries, is_written=True, dtype="f32")

    def points(self, sizes: AttentionSizes) -> int:
        return (1 if sizes.packed else sizes.b) * sizes.h * sizes.s * sizes.t * sizes.d

    def reference(self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        own = Dense.of(problem.sizes, inputs)
        softmax = KeySoftmax.of(logits(own.sizes, own.cells), own.keys.mask(own.sizes.t))
        every = {"o": softmax.over(weighted(own.sizes, softmax.powers, own.cells["v"])), "lse": softmax.lse}
        return _as_stated(problem, every)

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, Floats]:
        """Return bounds that hold in any order of summation, in tiles of any size that meet in any way.

        With n admitted keys whose logits differ by at most D, and A the largest sum of |q| |k| / sqrt(d): a logit is
        off by e = (d + 8) A u (Higham, Accuracy and Stability of Numerical Algorithms, 3.1: d for the sum, 8 for scale,
        base and the difference from the maximum). Powers and their sum are off by (6 n + 9 D + 12) u as those of a
        softmax are, and by e each; the sum of values by 3 n u, each step of an online sum being rescaled. Weights may
        be rounded to the type of the queries before they are multiplied, as matrix instructions of 16 bits need it. A
        scale of keys or of values rounds once more, which adds u to either. Where matrix instructions take subnormals
        for zeros, what these contribute may be missing.

        Integers whose sums the accumulator holds have exact logits before they are scaled. If a power of two of them
        are equal and the others 104 lower, o is exact and left out, and lse is off by its scale, base and logarithm:
        16 (|lse| + 1) u.
        """
        own = Dense.of(problem.sizes, {role: np.asarray(array, np.float64) for role, array in inputs.items()})
        sizes, cells, keys = own.sizes, own.cells, own.keys
        is_in, x = keys.mask(sizes.t), logits(sizes, cells)
        softmax, unit = KeySoftmax.of(x, is_in), 2.0**-accumulation.accumulator.mantissa
        narrow = problem.tensors["q"].dtype
        sizes_of = {role: np.abs(cells[role]) for role in ("q", "k", "v")}
        size, powers = logits(sizes, sizes_of), softmax.powers
        off = (sizes.d + 8 + sizes.scaled) * unit * np.max(size, axis=-1, keepdims=True, where=is_in, initial=0.0)
        magnitude, lost = softmax.over(weighted(sizes, powers, sizes_of["v"])), 0.0
        if accumulation.flushes_subnormals:
            kept = Dense.of(problem.sizes, without_subnormals(inputs, narrow)).cells
            off += np.max(size - logits(sizes, kept), axis=-1, keepdims=True, where=is_in, initial=0.0)
            powers = np.where(powers < smallest_normal(narrow), 0.0, powers)
            lost = magnitude - softmax.over(weighted(sizes, powers, kept["v"]))
        least = np.min(x, axis=-1, keepdims=True, where=is_in, initial=np.inf)
        is_none = keys.none[:, None, :, None]
        with np.errstate(invalid="ignore"):
            spread = np.where(is_none, 0.0, softmax.top - least)
            high = np.where(is_none, 0.0, np.abs(softmax.top) + np.log(np.maximum(softmax.sums, 1.0)))
        count = np.where(is_none, 0, (keys.end - keys.first)[:, None, :, None])
        summed = (6 * count + 9 * spread + 12) * unit
        weights = 2.0**-narrow.mantissa if narrow.bytes < 4 else 0.0
        every = {
            "o": magnitude * (2 * off + summed + (3 * count + sizes.scaled) * unit + weights) + lost,
            "lse": (off + summed + 8 * unit * (high + 1))[..., 0],
        }
        if fills.is_mean(cells, x, is_in, softmax.top):
            every = {"lse": (16 * unit * (high + 1))[..., 0]}
        return _as_stated(problem, every)


def without_subnormals(inputs: Mapping[str, NDArray[Any]], dtype: Dtype) -> dict[str, NDArray[Any]]:
    """Return the magnitudes of operands that matrix instructions count; other inputs as they are."""
    return {
        role: flushed(np.abs(np.asarray(array, np.float64)), dtype) if role in ("q", "k", "v", "do") else array
        for role, array in inputs.items()
    }


def _as_stated(problem: SizedProblem, every: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the outputs that a problem has, in the lengths that it states: packed ones have no axis of batches."""
    return {role: every[role].reshape(problem.tensors[role].lengths) for role in problem.outputs if role in every}


def logits(sizes: AttentionSizes, inputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the scaled products of queries and keys, shape (b, h, s, t), in the type of the inputs."""
    q = np.asarray(inputs["q"])
    return np.asarray(products(sizes, q, np.asarray(inputs["k"])) * q.dtype.type(1 / np.sqrt(sizes.d)))
