"""Wrong gradients are named by what makes them: a mask, a head, slopes without their sum, a scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.attention.test_diagnosis import read_by_strides_of, sentence
from tests.attention.test_reference import Arrays

from bitgate.ops.attention.admitted import products
from bitgate.ops.attention.attention import Admitted, KeyMask, KeySoftmax, admitted, logits
from bitgate.ops.attention.backward import Slopes, over_queries

Wrong = Callable[[Any, Arrays], Any]


def slopes(sizes: Any, inputs: Arrays, keys: Admitted | None = None, scale: float = 1.0) -> Slopes:
    is_in = (keys or admitted(sizes, inputs.get("lengths"))).mask(sizes.t)
    return Slopes.of(sizes, inputs, scale * logits(sizes, inputs), is_in)


def gradient(role: str, sizes: Any, inputs: Arrays, **other: Any) -> Any:
    return slopes(sizes, inputs, **other).gradients(sizes, inputs)[role]


def one_sided(sizes: Any, inputs: Arrays, keys: Admitted, heads: Any = slice(None), base: float = 1.0) -> Slopes:
    """Weights of other keys than those that sums of powers are of, or of the statistics of other heads."""
    right = slopes(sizes, inputs)
    dp = products(sizes, inputs["do"], inputs["v"])
    delta = (right.p * dp).sum(axis=3, keepdims=True)[:, heads]
    x = logits(sizes, inputs)
    lse = KeySoftmax.of(x, admitted(sizes, inputs.get("lengths")).mask(sizes.t)).lse[:, heads, :, None]
    p = np.where(keys.mask(sizes.t), np.exp(x - lse * base), 0)
    return Slopes(p, p * (dp - delta))


def later(sizes: Any, inputs: Arrays) -> Admitted:
    keys = admitted(sizes, inputs.get("lengths"))
    return Admitted(keys.first, np.minimum(keys.end + 1, sizes.t))


def without_sum(sizes: Any, inputs: Arrays) -> Any:
    right = slopes(sizes, inputs)
    ds = right.p * products(sizes, inputs["do"], inputs["v"])
    return Slopes(right.p, ds).gradients(sizes, inputs)["dq"]


def undivided(sizes: Any, inputs: Arrays) -> Any:
    softmax = KeySoftmax.of(logits(sizes, inputs), admitted(sizes).mask(sizes.t))
    return over_queries(sizes, softmax.powers, inputs["do"])


def of_heads(role: str, keep: int) -> Wrong:
    def wrong(sizes: Any, inputs: Arrays) -> Any:
        right, group = slopes(sizes, inputs), sizes.h // sizes.kv
        shared = (np.arange(sizes.h) % group == keep)[None, :, None, None]
        return Slopes(right.p * shared, right.ds * shared).gradients(sizes, inputs)[role]

    return wrong


def by_modulo(sizes: Any, inputs: Arrays) -> Any:
    order = np.argsort(np.arange(sizes.h) % sizes.kv, kind="stable")
    moved = {**inputs, "q": inputs["q"][:, order], "do": inputs["do"][:, order]}
    return gradient("dq", sizes, moved)[:, np.argsort(order)]


def keys_by_modulo(sizes: Any, inputs: Arrays) -> Any:
    """Keys of another head in the logits alone."""
    order = np.argsort(np.arange(sizes.h) % sizes.kv, kind="stable")
    x = logits(sizes, {**inputs, "q": inputs["q"][:, order]})[:, np.argsort(order)]
    found = Slopes.of(sizes, inputs, x, admitted(sizes).mask(sizes.t))
    return found.gradients(sizes, inputs)["dq"]


def values_by_modulo(sizes: Any, inputs: Arrays) -> Any:
    order = np.argsort(np.arange(sizes.h) % sizes.kv, kind="stable")
    dp = products(sizes, inputs["do"][:, order], inputs["v"])[:, np.argsort(order)]
    p = slopes(sizes, inputs).p
    return Slopes(p, p * (dp - (p * dp).sum(axis=3, keepdims=True))).gradients(sizes, inputs)["dk"]


def without_window(sizes: Any, inputs: Arrays) -> Any:
    wide = admitted(replace(sizes, mask=KeyMask.CAUSAL, w=1))
    return one_sided(sizes, inputs, wide).gradients(sizes, inputs)["dv"]


def of_slopes(sizes: Any, inputs: Arrays) -> Any:
    return over_queries(sizes, slopes(sizes, inputs).ds, inputs["do"])


def of_last_tile(sizes: Any, inputs: Arrays) -> Any:
    right = slopes(sizes, inputs)
    whole = (np.arange(sizes.s) < sizes.s // 32 * 32)[:, None]
    return Slopes(right.p * whole, right.ds * whole).gradients(sizes, inputs)["dk"]


CAUSAL, GROUPED = "f16_b1h2kv1s40t70d40_causal", "f16_b1h4kv2s40t40d40_full"


@pytest.mark.parametrize(
    ("case", "fill", "role", "wrong", "said"),
    [
        (CAUSAL, "decimal", "dq", without_sum, "the sum of p dp is not subtracted"),
        (CAUSAL, "exact", "dq", without_sum, "the sum of p dp is not subtracted"),
        (CAUSAL, "decimal", "dk", lambda s, x: gradient("dk", s, x) * np.sqrt(s.d), "scale of the logits is left out"),
        (CAUSAL, "decimal", "dv", lambda s, x: gradient("dv", s, x) / np.sqrt(s.d), "dv is multiplied by the scale"),
        (CAUSAL, "exact", "dv", lambda s, x: gradient("dv", s, x, keys=later(s, x)), "a key more than each query"),
        (
            CAUSAL,
            "decimal",
            "dv",
            lambda s, x: one_sided(s, x, later(s, x)).gradients(s, x)["dv"],
            "is let in, where sums of powers are right",
        ),
        ("f32_b1h2kv1s60t60d40w9_window", "decimal", "dv", without_window, "the window is left out"),
        ("f32_b1h2kv1s40t40d40_full", "decimal", "dv", undivided, "weights are not divided by the sum of powers"),
        ("f16_b1h2kv1s40t40d40_full", "decimal", "dv", of_slopes, "sum of slopes"),
        (CAUSAL, "decimal", "dq", lambda s, x: gradient("dq", s, x, scale=np.log(2)), "without log2 e"),
        (GROUPED, "exact", "dv", of_heads("dv", 0), "only the first of the query heads"),
        (GROUPED, "decimal", "dk", of_heads("dk", 1), "only the last of the query heads"),
        (GROUPED, "decimal", "dq", by_modulo, "of the head modulo their number"),
        (GROUPED, "decimal", "dq", keys_by_modulo, "keys of the logits are of the head modulo their number"),
        (GROUPED, "decimal", "dk", values_by_modulo, "values are of the head modulo their number"),
        (
            GROUPED,
            "decimal",
            "dk",
            lambda s, x: one_sided(s, x, admitted(s), np.array([0, 0, 2, 2])).gradients(s, x)["dk"],
            "largest logits and sums are of the first query head",
        ),
        (
            "f16_b1h2kv1s40t40d40_full_saved",
            "decimal",
            "dq",
            lambda s, x: one_sided(s, x, admitted(s), base=np.log(2)).gradients(s, x)["dq"],
            "is taken as one to base 2",
        ),
        ("f16_b1h2kv1s40t40d40_full", "decimal", "dk", of_last_tile, "the last tile of 32 queries"),
    ],
)  # fmt: skip
def test_defects_are_named(case: str, fill: str, role: str, wrong: Wrong, said: str) -> None:
    assert said in sentence(f"attention_bwd_{case}", fill, wrong, role)


@pytest.mark.parametrize("role", ["q", "v", "do"])
def test_an_operand_that_is_read_with_the_strides_of_k(role) -> None:
    case = f"attention_bwd_f16_b1h2kv2s40t40d24_full_gap{role}d8"

    def wrong(sizes: Any, inputs: Arrays) -> Any:
        return gradient("dk", sizes, {**inputs, role: read_by_strides_of(case, role, "k", inputs[role])})

    said = sentence(case, "exact", wrong, "dk")
    assert said.startswith(f"{role} is read with strides (1920, 960, 24, 1) instead of (2560, 1280, 32, 1): those of ")


def test_an_o_that_is_read_with_other_columns() -> None:
    """It is read for the sums of p dp alone."""
    case = "attention_bwd_f16_b1h2kv1s20t40d24_full_saved_gapoe1"

    def wrong(sizes: Any, inputs: Arrays) -> Any:
        right = slopes(sizes, inputs)
        o = read_by_strides_of(case, "o", "do", inputs["o"])
        delta = (o * inputs["do"]).sum(axis=3, keepdims=True)
        ds = right.p * (products(sizes, inputs["do"], inputs["v"]) - delta)
        return Slopes(right.p, ds).gradients(sizes, inputs)["dq"]

    said = sentence(case, "decimal", wrong, "dq")
    assert said.startswith("o is read with strides (960, 480, 24, 1) instead of (1920, 960, 48, 2): those of ")


def test_a_loop_over_queries_that_ends_a_query_early() -> None:
    """Key 31 is the last that query 32 admits, with which a tile of queries begins."""

    def wrong(sizes: Any, inputs: Arrays) -> Any:
        right = slopes(sizes, inputs)
        kept = np.ones((sizes.s, sizes.t))
        kept[32, :32] = 0
        return Slopes(right.p * kept, right.ds * kept).gradients(sizes, inputs)["dk"]

    said = sentence("attention_bwd_f16_b1h1kv1s64t64d32w2_window", "decimal", wrong, "dk")
    assert "where it has one query, the last tile of 32 queries that admit a tile of 32 keys is left out" in said


def test_keys_past_the_length_of_another_batch() -> None:
    def wrong(sizes: Any, inputs: Arrays) -> Any:
        """Blocks of 32 keys that begin past the length of batch 0 add nothing."""
        right = slopes(sizes, inputs)
        kept = np.arange(sizes.t) // 32 * 32 < inputs["lengths"][0]
        return Slopes(right.p * kept, right.ds * kept).gradients(sizes, inputs)["dv"]

    said = sentence("attention_bwd_f16_b4h2kv1s40t200d40_full_padded", "exact", wrong, "dv")
    assert "tiles of 32 keys that begin past the length of batch 0 are left out" in said


def test_slopes_whose_sums_nearly_cancel() -> None:
    """Most of the wrong cells are as far from the right ones as rounding of the large terms may take them."""
    case = "attention_bwd_bf16_b2h4kv2s8t40d32_causal"
    assert "the sum of p dp is not subtracted from the slopes" in sentence(case, "flat", without_sum, "dq")
