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
    from tests.adversarial_kernels.catalogue import BAD_KERNELS

    builder = Builder("host")
    builder.runtime()
    builder.native()
    for declaration in sorted({bad.declaration for bad in BAD_KERNELS}):
        builder.family(load_family(declaration))


@pytest.fixture
def suite_run(tmp_path: Path) -> Any:
    from tests.adversarial_kernels.suite_run import SuiteRun

    return SuiteRun(tmp_path)
