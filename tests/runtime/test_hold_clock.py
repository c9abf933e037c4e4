"""The clock that a device is held by."""

from __future__ import annotations

import subprocess
from ctypes import CDLL, c_int64
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.kernel.build.flags import host_compile
from bitgate.kernel.build.toolchain import find_host_compiler


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    compiler = find_host_compiler()
    built = tmp_path_factory.mktemp("clock") / "liblooks.so"
    headers = [paths.data_folder("kernels") / folder for folder in ("", "include", "platforms/host/include")]
    flags = [*host_compile(compiler.kind), *(f"-I{folder}" for folder in headers)]
    source = Path(__file__).parent / "narrow_clock" / "looks.cpp"
    subprocess.run([*compiler.command, *flags, "-shared", str(source), "-o", str(built)], check=True)
    found = CDLL(str(built))
    found.looks.restype = c_int64
    return found


@pytest.mark.parametrize("bits", [62, 32, 20])
@pytest.mark.parametrize("ticks", [1, 1_000_000, 40_000_000])
def test_a_clock_of_few_bits_holds_as_long_as_any(library: CDLL, ticks: int, bits: int) -> None:
    """gfx11's begins anew after 2^20 cycles, half a millisecond: what waits for a later tick waits for ever."""
    step = 100
    assert library.looks(c_int64(ticks), c_int64(bits), c_int64(step)) == -(-ticks // step) + 1
