"""Build the libraries of the adversarial kernels, and run their suite once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitgate.kernel.build.builder import Builder
from bitgate.kernel.registry import load_family


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """Build before the first run: no kernel's seconds are to go to the compiler."""
    from tests.adversarial_kernels.catalogue import EXHIBITS

    builder = Builder("host")
    builder.runtime()
    builder.native()
    for declaration in sorted({exhibit.declaration for exhibit in EXHIBITS}):
        builder.family(load_family(declaration))


@pytest.fixture
def visit(tmp_path: Path) -> Any:
    from tests.adversarial_kernels.visit import Visit

    return Visit(tmp_path)
