"""One capsule, written once, and copies of it to damage."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.places import lasting_place

from bitgate.cli.main import run

CASE = "bwd_data_f16_nhwgc_g2n1k8c8_y3x3_h6x6_s2x2_p1_bilinear"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Kernels of one's own that lie here are compiled once for all runs of these tests."""
    with lasting_place() as folder:
        yield folder


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capsule of a fill and a grouped launch, for gfx1100."""
    folder = tmp_path_factory.mktemp("capsule") / "gfx1100"
    command = ["capsule", "write", CASE, "--target", "gfx1100", "--kernel", "grouped_bwd_data.f16_*"]
    assert run([*command, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def capsule(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "capsule"))


@pytest.fixture
def edit(capsule: Path) -> Callable[[Callable[[Any], None]], None]:
    """Changes the capsule's manifest."""

    def change(by: Callable[[Any], None]) -> None:
        path = capsule / "manifest.json"
        document = json.loads(path.read_text())
        by(document)
        path.write_text(json.dumps(document))

    return change
