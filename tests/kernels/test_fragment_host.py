"""Fragments of the host: 8-bit operands are widened and multiplied as numpy says, for all codes and signs."""

from __future__ import annotations

import subprocess
from ctypes import CDLL, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.kernel.build import flags
from bitgate.kernel.build.toolchain import find_host_compiler
from bitgate.model import DTYPES

SOURCE = Path(__file__).parent / "fragment_lanes" / "host.cpp"
PITCH_A, PITCH_B = 41, 23
F8_PAIRS = [
    (f"{a}{flavour}", f"{b}{flavour}") for flavour in ("ocp", "fnuz") for a in ("f8", "bf8") for b in ("f8", "bf8")
]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    kernels, compiler = paths.data_folder("kernels"), find_host_compiler()
    output = tmp_path_factory.mktemp("host") / "host.so"
    includes = [f"-I{kernels / 'include'}", f"-I{kernels / 'platforms' / 'host' / 'include'}"]
    command = [*compiler.command, *flags.host_compile(compiler.kind), *includes, "-shared", str(SOURCE)]
    subprocess.run([*command, "-o", str(output)], check=True)
    return CDLL(str(output))


def multiply(host, name: str, a: np.ndarray, b: np.ndarray, sums: Any) -> np.ndarray:
    """16x16 sums of a (16 x K) and b (K x 16), which lie in longer rows of other numbers."""
    k = a.shape[1]
    wide_a, wide_b = np.full((16, PITCH_A), 0x3C, np.uint8), np.full((k, PITCH_B), 0x3C, np.uint8)
    wide_a[:, :k], wide_b[:, :16] = a.view(np.uint8), b.view(np.uint8)
    result = np.zeros((16, 16), sums)
    pointers = [array.ctypes.data_as(c_void_p) for array in (wide_a, wide_b, result)]
    getattr(host, name)(pointers[0], PITCH_A, pointers[1], PITCH_B, pointers[2])
    return result


@pytest.mark.parametrize(("wave", "k"), [(64, 32), (32, 16)])
def test_i8_sums_in_32_bits(host, wave, k):
    generator = np.random.default_rng(k)
    a, b = (generator.integers(-128, 128, shape).astype(np.int8) for shape in ((16, k), (k, 16)))
    a[0], b[:, 0] = -128, -128  # the largest product, and pairs of it
    expected = a.astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(multiply(host, f"i8_i8_{wave}", a, b, np.int32), expected)


@pytest.mark.parametrize(("a", "b"), F8_PAIRS, ids="_".join)
@pytest.mark.parametrize(("wave", "k"), [(64, 32), (32, 16)])
def test_every_code_is_widened(host, a, b, wave, k):
    """Each code of one operand times one in the other: the products are the codes' values."""
    codes = np.arange(256, dtype=np.uint8)
    ones = {name: np.array(1, np.float32).astype(DTYPES[name].numpy).view(np.uint8) for name in (a, b)}
    for first in range(0, 256, 16):
        block = codes[first : first + 16]
        column, row = np.zeros((16, k), np.uint8), np.zeros((k, 16), np.uint8)
        column[:, k - 1], row[k - 1] = block, ones[b]
        values = multiply(host, f"{a}_{b}_{wave}", column, row, np.float32)
        expected = np.repeat(block.view(DTYPES[a].numpy).astype(np.float32)[:, None], 16, axis=1)
        np.testing.assert_array_equal(values, expected)
        column[:, k - 1], row[k - 1] = ones[a], block
        values = multiply(host, f"{a}_{b}_{wave}", column, row, np.float32)
        expected = np.repeat(block.view(DTYPES[b].numpy).astype(np.float32)[None], 16, axis=0)
        np.testing.assert_array_equal(values, expected)
