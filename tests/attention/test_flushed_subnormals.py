"""Attention where matrix instructions take subnormal operands for zeros: bounds count what may be missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.attention.test_reference import made

from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.rounding import flushed

FLUSHES = replace(F32_ACCUMULATION, flushes_subnormals=True)


def missing(case: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The contribution of subnormal operands to each result, and the bounds without and with flushed ones."""
    problem, inputs = made(case, "decimal")
    operation: Any = problem.operation
    for role in set(inputs) & {"q", "k", "v", "do"}:  # every fifth number is subnormal
        inputs[role].reshape(-1)[::5] *= 2.0**-16
    signed = {role: np.sign(x) * flushed(np.abs(x), problem.tensors["q"].dtype) for role, x in inputs.items()}
    with_all, without = (operation.reference(problem, one) for one in (inputs, signed))
    lost = {role: np.abs(with_all[role] - without[role]) for role in problem.outputs}
    return lost, *(operation.bound(problem, inputs, one) for one in (F32_ACCUMULATION, FLUSHES))


@pytest.mark.parametrize(
    "case",
    [
        "attention_f16_b1h2kv1s30t70d40_causal_lse",
        "attention_f16_b4h2kv1s60t90d40_causal_packed",
        "attention_bwd_f16_b1h2kv1s30t70d40_causal",
    ],
)
def test_what_subnormals_contribute_may_be_missing(case: str) -> None:
    lost, kept, flushes = missing(case)
    for role, away in lost.items():
        assert (away <= flushes[role]).all()
        assert (flushes[role] >= kept[role]).all()
        assert (flushes[role] > kept[role]).any()


def test_a_causal_query_of_one_subnormal_key_would_be_a_false_alarm() -> None:
    lost, kept, _ = missing("attention_f16_b1h2kv1s40t40d40_causal")
    assert (lost["o"] > kept["o"]).any()
