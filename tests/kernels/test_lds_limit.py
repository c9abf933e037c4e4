"""An instance whose tiles are larger than the LDS of the target does not compile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.kernel.build.flags import host_compile
from bitgate.kernel.build.toolchain import find_host_compiler

# Sums of 128 x 68 floats.
SOURCE = """
#include "bitgate/implicit_gemm/sums.hpp"
using namespace bitgate::implicit_gemm;
using Large = TilingFor<Types<float>, Extent<128, 64, 64>, 4, 1, Wide, Vectors<8, 8, 8>>;
template void bitgate::implicit_gemm::store_sums<Large>(const Sums<Large>&, int, int, float*);
"""


@pytest.mark.parametrize(("lds_bytes", "fits"), [(34816, True), (34815, False)])
def test_tiles_fit_the_lds_of_the_target(tmp_path: Path, lds_bytes: int, fits: bool) -> None:
    compiler = find_host_compiler()
    source = tmp_path / "large.cpp"
    source.write_text(SOURCE)
    headers = [f"-I{paths.data_folder('kernels') / folder}" for folder in ("include", "platforms/host/include")]
    flags = [*host_compile(compiler.kind), *headers, f"-DBITGATE_LDS_BYTES={lds_bytes}", "-fsyntax-only"]
    done = subprocess.run([*compiler.command, *flags, str(source)], capture_output=True, text=True)
    assert (done.returncode == 0) is fits, done.stderr
    assert fits or "LDS of one block" in done.stderr
