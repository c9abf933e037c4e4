"""Wrong rows are named by what makes them: a limit, a mask, a sum that is not rescaled, a scale, moments that meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.rows.test_reference import made

from bitgate.numerics.rounding import rounded
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.poison import poison_bits

Floats = np.ndarray[Any, Any]


def sentence(case: str, fill: str, wrong: Callable[[Floats], Floats], role: str = "y", **other: Floats) -> str:
    """The diagnosis of what ``wrong`` makes of x, or of what the reference makes of other inputs."""
    problem, inputs = made(case, fill, 1)
    right = problem.operation.reference(problem, inputs)[role]
    dtype = problem.tensors[role].dtype
    result, reference = (rounded(np.asarray(cells, np.float64), dtype) for cells in (wrong(inputs["x"]), right))
    scene = Scene(
        problem,
        result,
        reference,
        poison_bits(dtype),
        {role: cells.astype(np.float32) for role, cells in inputs.items()},
        output=role,
        exact=fill != "decimal",
    )
    return diagnose(scene).sentence


def softmax(x: Floats, scale: float = 1.0) -> Floats:
    powers = np.exp(scale * (x - x.max(axis=1, keepdims=True)))
    return powers / powers.sum(axis=1, keepdims=True)


def causal(x: Floats, late: int) -> Floats:
    rows, columns = x.shape
    limit = np.clip(np.arange(rows) + 1 + columns - rows + late, 0, columns)[:, None]
    return softmax(np.where(np.arange(columns) < limit, x, -np.inf))


def turned(x: Floats) -> Floats:
    """A causal mask by rows less columns; rows that admit nothing are 0."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(causal(x, 2 * (len(x) - x.shape[1])))


def online(x: Floats, lanes: int) -> Floats:
    """Sums that are not rescaled when a lane's maximum grows."""
    tops = x.max(axis=1)
    sums = np.zeros(len(x))
    for lane in range(min(lanes, x.shape[1])):
        own = x[:, lane::lanes]
        growing = np.maximum.accumulate(own, axis=1)
        sums += np.exp(own - growing).sum(axis=1) * np.exp(growing[:, -1] - tops)
    return np.exp(x - tops[:, None]) / sums[:, None]


def parts(x: Floats, lanes: int) -> Floats:
    """Sums of lanes that meet without their maxima."""
    sums = np.zeros((len(x), 1))
    for own in (x[:, lane::lanes] for lane in range(lanes)):
        sums += np.exp(own - own.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
    return np.exp(x - x.max(axis=1, keepdims=True)) / sums


@pytest.mark.parametrize(
    ("case", "fill", "wrong", "said"),
    [
        ("softmax_f16_r30c70_causal", "exact", lambda x: causal(x, 1), "a cell more than each row admits is let in"),
        ("softmax_f16_r30c70_causal", "exact", lambda x: causal(x, -1), "the last admitted cell of each row is left"),
        ("softmax_f16_r30c70_causal", "exact", turned, "a causal mask begins at column r - c, not at c - r"),
        ("softmax_f16_r30c70_causal", "exact", softmax, "the mask is left out: masked cells are let in"),
        ("softmax_f16_r30c70_causal", "exact", lambda x: causal(x, -40), "a causal mask begins at the first column"),
        (
            "softmax_bf16_r30c300_full",
            "exact",
            lambda x: online(x, 64),
            "the sum of each of 64 threads is not rescaled",
        ),
        ("softmax_f32_r30c300_full", "decimal", lambda x: online(x, 256), "the sum of each of 256 threads is not"),
        ("softmax_f32_r30c300_full", "exact", lambda x: parts(x, 64), "the sums of 64 threads meet without being"),
        ("softmax_f32_r30c300_full", "decimal", lambda x: softmax(x, 1.1), "the logits are scaled by 1.1"),
        ("softmax_f16_r30c300_full", "decimal", lambda x: softmax(x, np.log(2)), "powers of 2 without log2 e"),
        ("softmax_f32_r30c300_full", "decimal", lambda x: softmax(x, 0.83), "the logits are scaled by 0.83"),
        ("softmax_f32_r30c300_full", "decimal", lambda x: np.exp(x - x.max(axis=1)[:, None]), "are not divided by"),
    ],
)
def test_a_softmax(case: str, fill: str, wrong: Callable[[Floats], Floats], said: str) -> None:
    assert said in sentence(case, fill, wrong)


@pytest.mark.parametrize(("floor", "said"), [(0.0, "begins at 0"), (-65504.0, "begins at the lowest number of f16")])
def test_a_maximum_that_begins_too_high(floor: float, said: str) -> None:
    """Rows below it have no power but 0."""

    def floored(x: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            powers = np.exp(x - np.maximum(x.max(axis=1, keepdims=True), floor))
            return powers / powers.sum(axis=1, keepdims=True)

    problem, inputs = made("softmax_f32_r30c70_full", "exact", 1)
    x = inputs["x"] - 1e6 * (np.arange(30) % 2)[:, None]
    right = problem.operation.reference(problem, {"x": x})["y"].astype(np.float32)
    scene = Scene(problem, floored(x).astype(np.float32), right, poison_bits(problem.tensors["y"].dtype), {"x": x})
    assert f"the maximum of each row {said}" in diagnose(scene).sentence


def half_scaled(x: Floats) -> Floats:
    """A softmax by 32 lanes: where two meet, the sum of the second is not rescaled."""
    lane = np.arange(x.shape[1]) % 32
    sums = np.zeros((len(x), 32))
    top = np.full((len(x), 32), -np.inf)
    for number in range(32):
        own = x[:, lane == number]
        top[:, number] = own.max(axis=1)
        sums[:, number] = np.exp(own - own.max(axis=1, keepdims=True)).sum(axis=1)
    for distance in (16, 8, 4, 2, 1):
        other = np.arange(32) ^ distance
        both = np.maximum(top, top[:, other])
        sums, top = sums * np.exp(top - both) + sums[:, other], both
    return np.exp(x - top[:, :1]) / sums[:, lane]


def test_a_sum_that_is_not_rescaled_where_two_meet() -> None:
    said = "where the sums of 32 lanes meet by twos, the second is not rescaled to the common maximum"
    assert said in sentence("softmax_f32_r30c300_full", "decimal", half_scaled)


def test_cells_that_the_mask_does_not_admit() -> None:
    def unmasked(x: Floats) -> Floats:
        """A causal softmax that leaves something in the masked cells."""
        right = causal(x, 0)
        rows, columns = np.indices(x.shape)
        return np.where(columns < rows + 1 + x.shape[1] - len(x), right, 0.75)

    said = sentence("softmax_f16_r30c70_causal", "exact", unmasked)
    assert "only all cells that the mask does not admit, which should be 0" in said


def half_means(x: Floats) -> Floats:
    """A layernorm by 32 lanes, whose means meet in the middle whatever their counts."""
    lane = np.arange(x.shape[1]) % 32
    own = [x[:, lane == number] for number in range(32)]
    count = np.array([cells.shape[1] for cells in own], np.float64)
    mean = np.stack([cells.mean(axis=1) for cells in own], axis=1)
    squares = np.stack([cells.var(axis=1) * cells.shape[1] for cells in own], axis=1)
    for distance in (16, 8, 4, 2, 1):
        other = np.arange(32) ^ distance
        apart, both = mean[:, other] - mean, count + count[other]
        squares = squares + squares[:, other] + apart**2 * count * count[other] / both
        mean, count = mean + apart / 2, both
    return norm(x, mean=mean[:, :1], variance=squares[:, :1] / x.shape[1])


def test_means_that_meet_without_their_counts() -> None:
    said = "where the moments of 32 lanes meet by twos, their means weigh half each, whatever their counts"
    assert said in sentence("layernorm_f32_r9c300", "decimal", half_means)


def norm(x: Floats, epsilon: float = 2.0**-16, mean: Floats | None = None, variance: Floats | None = None) -> Floats:
    own = x.mean(axis=1, keepdims=True) if mean is None else mean
    return (x - own) / np.sqrt((x.var(axis=1, keepdims=True) if variance is None else variance) + epsilon)


def welford(x: Floats, wave: int) -> Floats:
    """Squares of waves of a block of 256 threads, without those between their means."""
    away, waves = np.zeros((len(x), 1)), np.arange(x.shape[1]) % 256 // wave
    for own in (x[:, waves == number] for number in set(waves)):
        away += ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(axis=1, keepdims=True)
    return norm(x, variance=away / x.shape[1])


def padded(x: Floats) -> Floats:
    """Sums divided by a length that whole tiles have."""
    mean = x.sum(axis=1, keepdims=True) / 320
    return norm(x, mean=mean, variance=((x - mean) ** 2).sum(axis=1, keepdims=True) / 320)


@pytest.mark.parametrize(
    ("case", "wrong", "said"),
    [
        ("layernorm_f32_r9c300", lambda x: welford(x, 32), "the moments of waves of 32 meet without the squares"),
        ("layernorm_f32_r9c300", lambda x: welford(x, 64), "the moments of waves of 64 meet without the squares"),
        ("layernorm_f32_r9c300", lambda x: norm(x, variance=x.var(axis=1, ddof=1)[:, None]), "divided by c - 1"),
        ("layernorm_f32_r9c300", lambda x: norm(x, variance=(x**2).mean(axis=1)[:, None]), "squares are taken of the"),
        ("layernorm_f32_r9c300", padded, "divided by 320, the length of whole tiles"),
        ("rmsnorm_f32_r9c300", norm, "the mean is subtracted"),
    ],
)
def test_a_norm(case: str, wrong: Callable[[Floats], Floats], said: str) -> None:
    assert said in sentence(case, "decimal", wrong)


def test_epsilon_outside_the_root_or_left_out() -> None:
    def outside(x: Floats) -> Floats:
        return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 2.0**-16)

    assert "epsilon is left out" in sentence("layernorm_f16_r9c300", "exact", lambda x: norm(x, 0.0))
    assert "epsilon stands outside the root" in sentence("layernorm_f16_r9c300", "exact", outside)


def test_statistics_are_named_too() -> None:
    said = sentence("layernorm_f32_r9c300_stats", "decimal", lambda x: x.var(axis=1), "rstd")
    assert "rstd holds the variance" in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda y, gamma, beta: (y + beta) * gamma, "beta is added first, so that gamma scales it too"),
        (lambda y, gamma, beta: y * (1 + gamma) + beta, "1 is added to gamma"),
        (lambda y, gamma, beta: y * gamma - beta, "beta is subtracted"),
    ],
)
def test_gamma_and_beta(wrong: Callable[[Floats, Floats, Floats], Floats], said: str) -> None:
    case = "layernorm_f32_r9c300_affine"
    _, inputs = made(case, "decimal", 1)
    gamma, beta = inputs["gamma"], inputs["beta"]
    assert said in sentence(case, "decimal", lambda x: wrong(norm(x), gamma, beta))


@pytest.mark.parametrize(
    ("step", "said"),
    [(1, "the length of the row before"), (-1, "the length of the next row"), (0, "of row 0 is taken")],
)
def test_lengths_of_other_rows(step: int, said: str) -> None:
    case = "softmax_f32_r30c70_padded"
    _, inputs = made(case, "exact", 1)
    lengths = np.roll(inputs["lengths"], step) if step else np.repeat(inputs["lengths"][:1], 30)

    def wrong(x: Floats) -> Floats:
        is_in = np.arange(70) < lengths[:, None]
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(softmax(np.where(is_in, x, -np.inf))) * is_in

    assert said in sentence(case, "exact", wrong)
