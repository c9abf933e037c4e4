"""BLAS takes as many threads as it is given, and its own setting comes back."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.exact import blas


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A BLAS whose thread count is the last entry of the list."""
    counts = [4]
    monkeypatch.setattr(blas, "_controls", lambda: (counts.append, lambda: counts[-1]))
    return counts


def test_the_count_is_set_and_comes_back(setting: list[int]) -> None:
    with blas.threads(2):
        assert setting[-1] == 2
    assert setting[-1] == 4


def test_it_comes_back_after_an_error(setting: list[int]) -> None:
    with pytest.raises(ZeroDivisionError), blas.threads(1):
        _ = 1 // 0
    assert setting == [4, 1, 4]


def test_nothing_is_set_where_it_is_right_already(setting: list[int]) -> None:
    with blas.threads(4):
        pass
    assert setting == [4]


def test_a_blas_without_controls_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_controls", lambda: None)
    with blas.threads(1):
        assert np.matmul(np.eye(2), np.eye(2)).tolist() == [[1, 0], [0, 1]]


def test_the_openblas_of_numpys_wheel_is_found() -> None:
    if "openblas" not in str(np.show_config(mode="dicts")).lower():  # another BLAS: nothing to find
        return
    controls = blas._controls()
    assert controls is not None
    with blas.threads(1):
        assert controls[1]() == 1
