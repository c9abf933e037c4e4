"""BLAS takes as many threads as it is given, and its own setting comes back."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.numerics import matrix


def counts() -> set[int]:
    return {library.num_threads for library in matrix._blas_controller().lib_controllers}


def test_the_count_is_set_and_comes_back() -> None:
    before = counts()
    with matrix.blas_threads(1):
        assert counts() <= {1}
    assert counts() == before


def test_it_comes_back_after_an_error() -> None:
    before = counts()
    with pytest.raises(ZeroDivisionError), matrix.blas_threads(1):
        _ = 1 // 0
    assert counts() == before


def test_the_openblas_of_numpys_wheel_is_found() -> None:
    if "openblas" in str(np.show_config(mode="dicts")).lower():  # another BLAS may not be known
        assert counts()
