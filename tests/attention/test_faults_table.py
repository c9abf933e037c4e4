"""The table of docs/attention.md: of how many queries a defect makes the result wrong, under each kind of data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attention.test_diagnosis import attend, by_modulo, dense, in_tiles, other_scales, packed
from tests.attention.test_reference import Arrays, made, sizes_of

from bitgate.model import F32_ACCUMULATION
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.rounding import rounded
from bitgate.ops.attention.attention import AttentionSizes, KeySoftmax, admitted, logits, weighted
from bitgate.verify.bounds import bounded_results

FILLS = ("exact", "peaked", "flat", "decimal")
DOCS = Path(__file__).parents[2] / "docs" / "attention.md"

Wrong = Callable[[AttentionSizes, Arrays], Any]


def cut(sizes: AttentionSizes, inputs: Arrays, columns: int) -> Any:
    """Logits of the first columns of each head."""
    x = logits(sizes, {"q": inputs["q"] * (np.arange(sizes.d) < columns), "k": inputs["k"]})
    softmax = KeySoftmax.of(x, admitted(sizes, inputs.get("lengths")).mask(sizes.t))
    return softmax.over(weighted(sizes, softmax.powers, inputs["v"]))


def unmerged(sizes: AttentionSizes, inputs: Arrays) -> Any:
    """Two slices of the keys that meet without their maxima."""
    values, sums = np.zeros_like(inputs["q"]), np.zeros((*inputs["q"].shape[:3], 1))
    mask = admitted(sizes, inputs.get("lengths")).mask(sizes.t)
    for part in np.array_split(np.arange(sizes.t), 2):
        own = KeySoftmax.of(logits(sizes, inputs)[..., part], mask[..., part])
        values, sums = values + weighted(sizes, own.powers, inputs["v"][:, :, part]), sums + own.sums
    return values / np.where(sums > 0, sums, 1)


def short(sizes: AttentionSizes, inputs: Arrays) -> Any:
    """The last, incomplete tile of 64 keys is skipped."""
    return attend(sizes, inputs, lengths=np.full(sizes.b, sizes.t // 64 * 64))


PLAIN = "f16_b2h4kv2"
PACKED = "f16_b4h4kv2s256t256d64"
PAGES = f"{PLAIN}s128t128d64p16"
SCALED = "f16_f8ocp_f8ocp_f16_b2h4kv2s128t128d64_full_scaled"

WRONG: dict[str, tuple[str, Wrong]] = {
    "causal limit one late": (f"{PLAIN}s128t128d64_causal", lambda sizes, x: attend(sizes, x, 1)),
    "causal mask dropped": (f"{PLAIN}s128t128d64_causal", lambda sizes, x: attend(sizes, x, 128)),
    "a key more in the window": (
        f"{PLAIN}s128t128d64w20_window",
        lambda sizes, x: attend(AttentionSizes(**{**vars(sizes), "w": 21}), x),
    ),
    "padded keys let in": (
        f"{PLAIN}s128t128d64_full_padded",
        lambda sizes, x: attend(sizes, x, lengths=np.full(sizes.b, sizes.t)),
    ),
    "grouped head mapped by modulo": (f"{PLAIN}s128t128d64_full", by_modulo),
    "the last tile of keys skipped": (f"{PLAIN}s128t150d64_full_padded", short),
    "the sum of values not rescaled": (f"{PLAIN}s128t128d64_full", lambda sizes, x: in_tiles(sizes, x, False)),
    "the sum of powers not rescaled": (f"{PLAIN}s128t128d64_full", lambda sizes, x: in_tiles(sizes, x, True)),
    "two slices of keys meet without their maxima": (f"{PLAIN}s128t128d64_full", unmerged),
    "the last 8 columns of heads missing from logits": (f"{PLAIN}s128t128d64_full", lambda sizes, x: cut(sizes, x, 56)),
    "keys of the next sequence": (
        f"{PACKED}_full_packed",
        lambda sizes, x: packed(sizes, x, cu_seqlens_k=lambda x: np.append(x["cu_seqlens_k"][1:], 256)),
    ),
    "sequences of queries begin one late": (
        f"{PACKED}_causal_packed",
        lambda sizes, x: packed(sizes, x, cu_seqlens_q=lambda x: x["cu_seqlens_q"] + 1),
    ),
    "the page table read one entry late": (
        f"{PAGES}_full_padded_paged",
        lambda sizes, x: dense(
            sizes, x, page_table=lambda x: np.roll(x["page_table"].reshape(-1), -1).reshape(x["page_table"].shape)
        ),
    ),
    "the page table of batch 0 for all": (
        f"{PAGES}_full_padded_paged",
        lambda sizes, x: dense(sizes, x, page_table=lambda x: x["page_table"][[0, 0]]),
    ),
    "the tail of the last page let in": (
        f"{PAGES}_full_padded_paged",
        lambda sizes, x: dense(sizes, x, lengths=lambda x: -(-x["lengths"] // 16) * 16),
    ),
    "the scale of values left out": (SCALED, lambda sizes, x: other_scales(sizes, x, "k_scale", "one")),
    "the scale of keys left out": (SCALED, lambda sizes, x: other_scales(sizes, x, "one", "v_scale")),
    "scales of the next head": (SCALED, lambda sizes, x: other_scales(sizes, x, "k_scale", "v_scale", 1)),
    "exp2 without log2 e": (f"{PLAIN}s128t128d64_full", lambda sizes, x: attend(sizes, x, scale=np.log(2))),
    "logits times 1.1": (f"{PLAIN}s128t128d64_full", lambda sizes, x: attend(sizes, x, scale=1.1)),
}
"""Defects, each with the shape it is tried on."""


def wrong_queries(shape: str, wrong: Wrong, fill: str) -> int:
    """Return how many of 1024 queries have a cell outside of its bound, or with other bits."""
    problem, inputs = made(f"attention_{shape}", fill)
    dtype = problem.tensors["o"].dtype
    result = rounded(np.asarray(wrong(sizes_of(problem), inputs), np.float64), dtype)
    hosts = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, 0))
    if fill == "decimal":
        _, bounds = bounded_results(problem, hosts, F32_ACCUMULATION)
        outside = bounds["o"].outside(result)
    else:
        outside = rounded(problem.operation.reference(problem, inputs)["o"], dtype) != result
    return int(outside.any(axis=-1).sum())


def stated() -> dict[str, list[int]]:
    """The rows of the table in the docs."""
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: [int(cell) for cell in row[1:]] for row in rows if row[0] in WRONG}


def test_the_table_has_every_defect() -> None:
    assert stated().keys() == WRONG.keys()


@pytest.mark.parametrize("defect", WRONG)
def test_queries_that_a_defect_makes_wrong(defect: str) -> None:
    shape, wrong = WRONG[defect]
    assert stated()[defect] == [wrong_queries(shape, wrong, fill) for fill in FILLS]
