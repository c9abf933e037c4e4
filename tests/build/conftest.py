"""A family of two units and a header, in a checkout's shape, with a separate cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.kernel.build import Builder
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import KernelFamily

ONE = '#include "bitgate/abi.h"\n#include "shared.hpp"\nextern "C" BITGATE_EXPORT int one() { return SHARED; }\n'
TWO = '#include "bitgate/abi.h"\nextern "C" BITGATE_EXPORT int two() { return 2; }\n'


@pytest.fixture
def family(tmp_path: Path) -> KernelFamily:
    folder = tmp_path / "pair"
    folder.mkdir()
    (folder / "one.hip.cpp").write_text(ONE)
    (folder / "two.hip.cpp").write_text(TWO)
    (folder / "shared.hpp").write_text("#define SHARED 1\n")
    return plain_family(folder, "one.hip.cpp", "two.hip.cpp")


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def make_builder(tmp_path: Path, lines: list[str]) -> Callable[[], Builder]:
    """A builder on this test's cache; its progress lines are collected in ``lines``.

    The families here use no HIP, so the runtime they would be linked with is any library.
    """

    class WithoutRuntime(Builder):
        def runtime(self) -> Path:
            return Path("/lib/x86_64-linux-gnu/libm.so.6")

    return lambda: WithoutRuntime("host", lines.append, cache=Cache(tmp_path / "cache"))
