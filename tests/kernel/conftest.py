"""A whole tiny kernel library, compiled with one thing wrong at a time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plain_family import plain_family

from bitgate.core import paths
from bitgate.kernel.build import find_host_compiler
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import Instance, KernelFamily, Option
from bitgate.model import F32_ACCUMULATION

SOURCE = Path(__file__).with_name("tiny_kernel.c")


@pytest.fixture
def tiny_family(tmp_path: Path) -> KernelFamily:
    """The declaration that tiny_kernel.c keeps to."""
    plain = Instance("plain", "plain", ("f32", "f16"), ("nhwgc",), (2,), F32_ACCUMULATION, (16, 16, 8), block_size=64)
    times = Option("times", ("once", "twice"), "twice", "how often dy counts")
    stated = {"operations": ("bwd_data",), "instances": (plain,), "options": (times,)}
    return plain_family(SOURCE.parent, SOURCE.name, name="tiny", **stated)


@pytest.fixture
def private_cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def tiny_library(tmp_path: Path) -> Callable[..., Path]:
    """Compiles tiny_kernel.c with macros: ``tiny_library('VERSION=9')``."""

    def build(*macros: str) -> Path:
        compiler = find_host_compiler()
        path = tmp_path / f"libtiny{len(list(tmp_path.glob('libtiny*')))}.so"
        defines = [f"-D{macro}" for macro in macros]
        include = f"-I{paths.data_folder('kernels') / 'include'}"
        command = ["-x", "c", "-O1", "-shared", "-fPIC", include, *defines, str(SOURCE), "-o", str(path)]
        subprocess.run([*compiler.command, *command], check=True)
        return path

    return build
