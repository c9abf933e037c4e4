"""Rows of an implicit GEMM are taken without a walk only where they follow each other evenly in memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.kernel.build.flags import host_compile
from bitgate.kernel.build.toolchain import find_host_compiler

# Three images of 1 x 7 x 9 positions.
SOURCE = """
#include "bitgate/implicit_gemm/rows.hpp"
using namespace bitgate::implicit_gemm;
struct Geometry {{
  int32_t images;
  Axis axis[bitgate::axes];
}};
constexpr Geometry geometry{{3, {{{{1, 1, 1, 1, 1, 0}}, {{7, 1, 7, 1, 1, 0}}, {{9, 1, 9, 1, 1, 0}}}}}};
constexpr int64_t position[] = {{{depth}, {height}, {width}}};
static_assert(even_rows(geometry, {image}, position) == {apart});
"""


@pytest.mark.parametrize(
    ("image", "depth", "height", "width", "apart"),
    [
        pytest.param(7 * 9 * 16, 0, 9 * 16, 16, 16, id="packed"),
        pytest.param(7 * 9 * 24, 5, 9 * 24, 24, 24, id="gaps between positions, a depth of one"),
        pytest.param(7 * (9 * 16 + 8), 0, 9 * 16 + 8, 16, 0, id="gaps between lines"),
        pytest.param(7 * 9 * 16 + 8, 0, 9 * 16, 16, 0, id="gaps between images"),
        pytest.param(4 * 7 * 9 * 16, 0, 2 * 9 * 16, 2 * 16, 0, id="every other position"),
    ],
)
def test_only_rows_that_follow_each_other_evenly_lie_apart(
    tmp_path: Path, image: int, depth: int, height: int, width: int, apart: int
) -> None:
    compiler = find_host_compiler()
    source = tmp_path / "rows.cpp"
    source.write_text(SOURCE.format(image=image, depth=depth, height=height, width=width, apart=apart))
    headers = [f"-I{paths.data_folder('kernels') / folder}" for folder in ("include", "platforms/host/include")]
    flags = [*host_compile(compiler.kind), *headers, "-fsyntax-only"]
    done = subprocess.run([*compiler.command, *flags, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
