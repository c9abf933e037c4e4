"""How tight the bounds of attention are, and that what a right kernel may round stays within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.attention.test_reference import Arrays, made

from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.rounding import rounded
from bitgate.ops.attention import fills
from bitgate.ops.attention.admitted import admitted, products
from bitgate.ops.attention.attention import logits
from bitgate.ops.attention.backward import Slopes
from bitgate.verify.bounds import Bounds, bounded_results


def bounds_of(problem: Any, fill: str) -> dict[str, Bounds]:
    hosts = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, 0))
    return bounded_results(problem, hosts, F32_ACCUMULATION)[1]


@pytest.mark.parametrize("role", ["dq", "dk"])
@pytest.mark.parametrize("shape", ["bf16_b2h4kv2s70t90d64_causal", "f16_b1h2kv1s50t500d128_full"])
def test_gradients_off_by_a_tenth_show(shape: str, role: str) -> None:
    problem, _ = made(f"attention_bwd_{shape}", "decimal")
    own = bounds_of(problem, "decimal")[role]
    assert own.outside(rounded(0.9 * own.value, own.dtype)).mean() > 0.5


def rounded_gradients(problem: Any, inputs: Arrays, upward: Any) -> Arrays:
    """Gradients of weights and slopes that are rounded to the type of q, weights in the direction of ``upward``."""
    sizes, unit = problem.sizes, 2.0 ** -problem.tensors["q"].dtype.mantissa
    is_in = admitted(sizes, inputs.get("lengths")).mask(sizes.t)
    p = Slopes.of(sizes, inputs, logits(sizes, inputs), is_in).p
    dp = products(sizes, inputs["do"], inputs["v"])
    p = p * (1 + unit * upward(dp))
    own = (inputs["do"] * inputs["o"] if sizes.saved else p * dp).sum(axis=3, keepdims=True)
    ds = p * (dp - own)
    return Slopes(p, ds * (1 + unit * np.sign(ds))).gradients(sizes, inputs)


@pytest.mark.parametrize("upward", [np.sign, np.ones_like, lambda x: -np.sign(x)])
@pytest.mark.parametrize("shape", ["b1h1kv1s1t2d16_full", "b2h4kv2s30t50d40_causal", "b2h2kv1s20t30d40_full_saved"])
def test_rounded_weights_and_slopes_are_within_bounds(shape: str, upward: Any) -> None:
    """The largest error of a weight that rounding to bf16 makes is admitted, and hardly more than that."""
    problem, inputs = made(f"attention_bwd_bf16_{shape}", "decimal")
    right = problem.operation.reference(problem, inputs)
    bounds: Any = problem.operation.bound(problem, inputs, F32_ACCUMULATION)  # type: ignore[attr-defined]
    for role, cells in rounded_gradients(problem, inputs, upward).items():
        assert (np.abs(cells - right[role]) <= bounds[role]).all(), role


@pytest.mark.parametrize("role", ["k_scale", "v_scale"])
def test_scales_cut_to_their_exponents_show(role: str) -> None:
    problem, inputs = made("attention_f16_f8ocp_f8ocp_f16_b2h4kv2s20t40d64_full_scaled", "decimal")
    cut = inputs | {role: 2.0 ** np.floor(np.log2(inputs[role]))}
    own = bounds_of(problem, "decimal")["o"]
    result = rounded(problem.operation.reference(problem, cut)["o"], own.dtype)
    assert own.outside(result).mean() > 0.5


def test_means_of_scaled_values_are_exact_next_to_lse() -> None:
    problem, _ = made("attention_f16_f8ocp_f8ocp_f16_b2h4kv2s20t40d64_full_lse_scaled", "exact")
    assert bounds_of(problem, "exact").keys() == {"lse"}


def test_as_many_queries_as_keys_may_begin_elsewhere() -> None:
    """A kernel that takes either begins for both, where there are as many, is wrong under other seeds."""
    problem: Any = made("attention_f16_b3h2kv1s60t60d64_full_packed", "exact")[0]
    own, other = (fills.numbers_of(problem, seed) for seed in (0, 3))
    assert (own["cu_seqlens_q"] == own["cu_seqlens_k"]).all()
    assert (other["cu_seqlens_q"] != other["cu_seqlens_k"]).any()
