"""An installed bitgate that is started inside a checkout works on the checkout, in its child processes too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitgate.core import paths


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a wheel's copies, which this process takes for its home."""
    packed = tmp_path / "site-packages" / "bitgate" / paths.PACKED
    packed.mkdir(parents=True)
    monkeypatch.delenv(paths.VARIABLE, raising=False)
    monkeypatch.delenv(paths.FORMER_VARIABLE, raising=False)
    monkeypatch.setattr(paths, "home", lambda: packed)
    paths.root.cache_clear()
    yield packed
    os.environ.pop(paths.VARIABLE, None)
    paths.root.cache_clear()


def checkout(folder: Path) -> Path:
    for name in ("kernels/include/bitgate/abi.h", "harness/bitgate/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_below_a_checkout_its_sources_count(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = checkout(tmp_path / "here")
    monkeypatch.chdir(here / "kernels")
    assert paths.root() == here
    assert os.environ[paths.VARIABLE] == str(here)


def test_elsewhere_the_copies_count(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path / "kernels")
    assert paths.root() == wheel
    assert paths.VARIABLE not in os.environ
