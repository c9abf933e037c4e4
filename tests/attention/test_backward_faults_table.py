"""The second table of docs/attention.md: how many rows of a gradient a defect makes wrong, under each kind of data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.attention.test_backward_diagnosis import gradient, later, of_heads, one_sided, slopes, undivided, without_sum
from tests.attention.test_faults_table import DOCS, FILLS
from tests.attention.test_reference import Arrays, made

from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.rounding import rounded
from bitgate.ops.attention.admitted import admitted
from bitgate.verify.bounds import bounded_results

Wrong = Callable[[Any, Arrays], Any]


def cut(sizes: Any, inputs: Arrays) -> Any:
    """The last, incomplete tile of 32 queries adds nothing."""
    right, whole = slopes(sizes, inputs), (np.arange(sizes.s) < sizes.s // 32 * 32)[:, None]
    return type(right)(right.p * whole, right.ds * whole).gradients(sizes, inputs)["dv"]


def late(sizes: Any, inputs: Arrays) -> Any:
    """Weights of a key more, though their sums are right."""
    with np.errstate(over="ignore", invalid="ignore"):
        return one_sided(sizes, inputs, later(sizes, inputs)).gradients(sizes, inputs)["dv"]


def of_first_head(sizes: Any, inputs: Arrays) -> Any:
    """Weights by the largest logits and sums of the first head of a group."""
    first = np.arange(sizes.h) // (sizes.h // sizes.kv) * (sizes.h // sizes.kv)
    with np.errstate(over="ignore", invalid="ignore"):
        return one_sided(sizes, inputs, admitted(sizes), first).gradients(sizes, inputs)["dv"]


WRONG: dict[str, tuple[str, str, Wrong]] = {
    "causal limit one late in dk and dv alone": ("dv", "causal", late),
    "the last tile of queries skipped": ("dv", "full", cut),
    "one query head of a group": ("dv", "full", of_heads("dv", 0)),
    "largest logits and sums of one head": ("dv", "full", of_first_head),
    "weights not divided by the sum of powers": ("dv", "full", undivided),
    "the sum of p dp not subtracted": ("dq", "full", without_sum),
    "the scale of dk left out": ("dk", "full", lambda sizes, x: gradient("dk", sizes, x) * np.sqrt(sizes.d)),
    "dq without log2 e": ("dq", "full", lambda sizes, x: gradient("dq", sizes, x, scale=np.log(2))),
    "dv without log2 e": ("dv", "full", lambda sizes, x: gradient("dv", sizes, x, scale=np.log(2))),
}
"""Defects, each with the gradient and the mask that it is tried on."""


def wrong_rows(role: str, mask: str, wrong: Wrong, fill: str) -> int:
    """Return how many rows have a cell outside of its bound, or with other bits where there is none."""
    problem, inputs = made(f"attention_bwd_f16_b2h4kv2s100t100d64_{mask}", fill)
    dtype = problem.tensors[role].dtype
    result = rounded(np.asarray(wrong(problem.sizes, inputs), np.float64), dtype)  # type: ignore[attr-defined]
    hosts = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, 0))
    _, bounds = bounded_results(problem, hosts, F32_ACCUMULATION)
    if role in bounds:
        return int(bounds[role].outside(result).any(axis=3).sum())
    right = rounded(problem.operation.reference(problem, inputs)[role], dtype)
    return int((result != right).any(axis=3).sum())


def stated() -> dict[str, list[int]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in DOCS.read_text().splitlines()]
    return {row[0]: [int(cell) for cell in row[2:]] for row in rows if row[0] in WRONG}


def test_the_table_has_every_defect() -> None:
    assert stated().keys() == WRONG.keys()


@pytest.mark.parametrize("defect", WRONG)
def test_rows_that_a_defect_makes_wrong(defect: str) -> None:
    role, mask, wrong = WRONG[defect]
    assert stated()[defect] == [wrong_rows(role, mask, wrong, fill) for fill in FILLS]
