"""Sums are known by the reference alone, and zeros are no terms only where they add nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bitgate.tools.judge.data import KEPT, cells_of
from bitgate.tools.judge.sums import summed_sizes, terms_of

AXES = {0: ["a", "b"], 1: ["a", "b"]}


def summed(reference: Callable[[Any, Any], Any]) -> list[str]:
    rng = np.random.default_rng(3)
    inputs = {place: rng.standard_normal((12, 30)) for place in AXES}
    return summed_sizes(["a", "b"], AXES, inputs, lambda given: [np.asarray(reference(given[0], given[1]))])


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        (lambda x, y: ((x - y) ** 2).mean(), ["a", "b"]),
        (lambda x, y: np.abs(x).sum() * 2, ["a", "b"]),
        (lambda x, y: np.sqrt((x * y * x * y).sum()), ["a", "b"]),
        (lambda x, y: ((x * y).sum(0) ** 2).sum(), ["b"]),
        (lambda x, y: np.exp(x).sum() - np.exp(y).sum(), []),  # zeros are terms, which cancel
        (lambda x, y: np.abs(x - x.mean()).sum(), []),  # a zero adds the mean
        (lambda x, y: np.sqrt((x * x).mean() + 1e-5), []),
        (lambda x, y: np.abs(x).max(), []),
        (lambda x, y: 0 * x.sum(), []),
        (lambda x, y: np.count_nonzero(x), []),
    ],
)
def test_sums_are_those_of_terms_that_zeros_leave_out(reference: Any, names: list[str]) -> None:
    assert summed(reference) == names


def test_terms_are_where_any_input_is_not_zero() -> None:
    x, y = np.zeros((4, 3)), np.zeros((4, 3))
    x[1, 0], y[2, 0] = 5, 7
    found = terms_of(["a", "b"], AXES, {0: x, 1: y})
    assert [np.argwhere(one).tolist() for one in found.values()] == [[[1, 0], [2, 0]]] * 2
    assert terms_of([], AXES, {0: x})[0].all()


def test_few_data_are_zero_but_for_the_same_places_of_each_input() -> None:
    drawn = {"given": "float32", "low": -3.0, "high": 3.0, "spread": 1.0, "summed": [(0, "a"), (1, "b")]}
    x, y = (cells_of({**drawn, "role": role}, (20, 30), "few", 5) for role in ("x0", "x1"))
    assert np.argwhere(x).tolist() == np.argwhere(y).tolist()
    assert np.count_nonzero(x) == KEPT**2
    assert not np.array_equal(x, y)
