"""Operations on rows against PyTorch, and their data: what each row is for, and what a defect of it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitgate.model import F32_ACCUMULATION, Problem, ProblemError, case_id, parse_case_id
from bitgate.numerics.certificate import certify
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.ops.rows.norm import EPSILON
from bitgate.ops.rows.softmax import DECOY, admitted
from bitgate.verify.bounds import bounded_results, round_safe

Arrays = dict[str, np.ndarray[Any, Any]]


def made(case: str, fill: str = "exact", seed: int = 0) -> tuple[Problem, Arrays]:
    problem = parse_case_id(case)
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, fill, seed))
    return problem, {role: host.logical.astype(np.float64) for role, host in inputs.items()}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("softmax_f16_r3c5", "softmax_f16_r3c5_full"),
        ("softmax_f16_r3c5_gap_causal", "softmax_f16_r3c5_causal_gap"),
        ("layernorm_bf16_r3c5_stats_affine_gapxc8", "layernorm_bf16_r3c5_affine_stats_gapxc8"),
    ],
)
def test_spellings(text: str, canonical: str) -> None:
    assert case_id(parse_case_id(text)) == canonical


def test_a_layernorm_of_one_column_needs_beta() -> None:
    with pytest.raises(ProblemError, match="c = 1 without affine: a cell is its row's mean"):
        parse_case_id("layernorm_f32_r3c1")


def random_case(rng: np.random.Generator, operation: str) -> str:
    rows, columns = rng.integers(1, 40), rng.integers(2, 300)
    words = f"{operation}_f32_r{rows}c{columns}"
    if operation == "softmax":
        return f"{words}_{rng.choice(['full', 'causal', 'padded'])}"
    return words + "_affine" * int(rng.integers(2)) + "_stats"


@pytest.mark.needs("torch")
@pytest.mark.parametrize("operation", ["softmax", "layernorm", "rmsnorm"])
def test_200_references_agree_with_pytorch(operation: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(200):
        problem, inputs = made(random_case(rng, operation), ("exact", "decimal")[seed % 2], seed)
        found = problem.operation.reference(problem, inputs)
        for role, right in by_torch(problem, inputs).items():
            assert np.allclose(found[role], right, rtol=1e-11, atol=1e-12), (case_id(problem), role)


def by_torch(problem: Any, inputs: Arrays) -> Arrays:
    """The results of PyTorch on the CPU in f64."""
    import torch

    tensors = {role: torch.from_numpy(cells) for role, cells in inputs.items()}
    x, sizes = tensors["x"], problem.sizes
    if problem.operation.name == "softmax":
        limit = torch.from_numpy(admitted(sizes, inputs.get("lengths")))[:, None]
        masked = torch.where(torch.arange(sizes.c)[None, :] < limit, x, -torch.inf)
        return {"y": torch.nan_to_num(torch.softmax(masked, 1)).numpy()}
    weight = tensors.get("gamma")
    if problem.operation.name == "rmsnorm":
        y = torch.nn.functional.rms_norm(x, (sizes.c,), weight, EPSILON)
        return {"y": y.numpy(), "rstd": torch.rsqrt((x * x).mean(1) + EPSILON).numpy()}
    y, mean, rstd = torch.native_layer_norm(x, (sizes.c,), weight, tensors.get("beta"), EPSILON)
    return {"y": y.numpy(), "mean": mean[:, 0].numpy(), "rstd": rstd[:, 0].numpy()}


def test_winners_are_last_and_at_edges_and_masked_cells_are_decoys() -> None:
    problem, inputs = made("softmax_bf16_r60c300_padded", "peaked")
    limit = admitted(problem.sizes, inputs["lengths"])  # type: ignore[attr-defined]
    above = inputs["x"] - 256 * (np.arange(60) % 4)[:, None]
    winners = [int(row[:last].argmax()) for row, last in zip(above, limit, strict=True) if last]
    assert {0, 299, 300} <= set(limit.tolist())
    assert {298, 299, 255, 63} <= set(winners)
    for row, last in zip(above, limit, strict=True):
        assert (row[last:] == DECOY).all()
        assert np.sort(row[:last])[-2:-1].max(initial=-np.inf) <= DECOY / 2 - 104


@pytest.mark.parametrize("shape", ["r40c300_full", "r40c37_causal", "r40c300_padded", "r1c1_full"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_softmax_rows_claim_bits_that_hold(dtype: str, shape: str) -> None:
    problem, _ = made(f"softmax_{dtype}_{shape}")
    for fill in problem.operation.numerics.fills(problem):
        plan = plan_fill(problem, F32_ACCUMULATION, fill.name, 3)
        assert certify(problem, plan, make_inputs(problem, plan), F32_ACCUMULATION).holds == fill.exact


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 6, 7, 8, 63, 300])
@pytest.mark.parametrize("operation", ["layernorm", "rmsnorm"])
def test_balanced_rows_have_exact_moments(operation: str, columns: int) -> None:
    problem, inputs = made(f"{operation}_bf16_r8c{columns}_affine_stats")
    found = problem.operation.reference(problem, inputs)
    rstd = set(np.log2(found["rstd"].astype(np.float32)).tolist())
    if (operation, columns) != ("layernorm", 3):
        assert rstd <= {8.0, 7.0, -5.0, -6.0, -7.0}
    if columns >= 4:
        assert 7.0 in rstd  # where epsilon is a quarter of what is under the root


def test_of_16_bits_balanced_rows_are_one_pattern_and_the_note_counts_the_rest() -> None:
    problem, _ = made("layernorm_f16_r8c64_affine")
    wide, _ = made("layernorm_f32_r8c64_affine")
    assert [one.numerics.fills(p)[0].exact for p in (problem, wide) for one in (p.operation,)] == [True, False]
    inputs = make_inputs(problem, plan_fill(problem, F32_ACCUMULATION, "decimal", 0))
    _, bounds = bounded_results(problem, inputs, F32_ACCUMULATION)
    assert "of 512 cells are round-safe: compared by bits" in round_safe(bounds)
