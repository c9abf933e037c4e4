"""benchmarks/tensor_core.py: what an instruction of eight terms keeps, and when sums meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.kernel.python_files import run_file


@pytest.fixture(scope="module")
def core() -> Any:
    return run_file(paths.root() / "benchmarks" / "tensor_core.py", "tensor_core")


def total(core: Any, *terms: tuple[int, float]) -> float:
    """Add terms at their places in a sum of 64."""
    row = np.zeros((1, 64))
    for place, term in terms:
        row[0, place] = term
    return float(core.matmul(row, np.ones((64, 1)))[0, 0])


def test_integers_are_multiplied_exactly(core: Any) -> None:
    a, b = (np.random.default_rng(0).integers(-9, 10, shape).astype(float) for shape in ((2, 5, 70), (2, 70, 3)))
    assert np.array_equal(core.matmul(a, b), a @ b)


def test_a_factor_of_24_bits_is_kept_in_two_parts(core: Any) -> None:
    factor = 1 + 2.0**-11 - 2.0**-22
    assert core.matmul(np.array([[factor]]), np.array([[3.0]]))[0, 0] == 3 * factor


def test_two_bits_below_those_of_the_largest_term_count_and_no_more(core: Any) -> None:
    assert total(core, (0, 1), *((place, 2.0**-25) for place in range(1, 5))) == 1 + 2.0**-23
    assert total(core, (0, 1), *((place, 2.0**-26) for place in range(1, 8))) == 1


def test_the_first_instruction_joins_the_sum_alone(core: Any) -> None:
    """The terms of the second one are not cut to the bits of the first: their sum is added, and rounded to nearest."""
    assert total(core, (0, 1), *((place, 2.0**-26) for place in range(8, 15))) == 1 + 2.0**-23
    assert total(core, (8, 1), *((place, 2.0**-26) for place in range(16, 23))) == 1


def test_the_fifth_instruction_joins_those_before_it(core: Any) -> None:
    assert total(core, (24, 1), *((place, 2.0**-26) for place in range(32, 39))) == 1
    assert total(core, (32, 1), *((place, 2.0**-26) for place in range(40, 47))) == 1 + 2.0**-23
