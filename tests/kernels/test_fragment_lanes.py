"""Fragments of AMD GPUs, lane by lane on the CPU: the headers load and store what the instructions' tables say.

The header runs for each lane of a wave; the instruction between is done here, from its table, which says which element
of A, B and D a register of a lane is. No GPU is asked: that the tables are right is the platform self-test's to settle.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from ctypes import CDLL, c_void_p
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from bitgate import rooms
from bitgate.build.toolchain import find_device_compiler

pytestmark = pytest.mark.skipif(find_spec("ziglang") is None, reason="needs ziglang's clang (pip install ziglang)")

FOLDER = Path(__file__).parent / "fragment_lanes"
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32)}


@dataclass(frozen=True)
class Instruction:
    """``reduction(lane, element)`` is k of an operand's element; rows of A and columns of B are ``lane % m``.
    ``row(lane, register)`` is the row of a result's register; its column is ``lane % n``."""

    m: int
    k: int
    wave: int
    per_lane: int
    reduction: Callable[[int, int], int]
    row: Callable[[int, int], int]


def mfma(m: int, k: int) -> Instruction:
    per_lane = k * m // 64
    return Instruction(
        m,
        k,
        64,
        per_lane,
        lambda lane, e: lane // m * per_lane + e,
        lambda lane, r: 4 * (64 // m * (r // 4) + lane // m) + r % 4,
    )


GFX11 = Instruction(16, 16, 32, 16, lambda lane, e: e, lambda lane, r: 2 * r + lane // 16)
GFX12 = Instruction(16, 16, 32, 8, lambda lane, e: 8 * (lane // 16) + e, lambda lane, r: 8 * (lane // 16) + r)
CASES = [
    ("GFX9", "f16_32", mfma(32, 8)),
    ("GFX9", "bf16_32", mfma(32, 8)),
    ("GFX9", "f16_16", mfma(16, 16)),
    ("GFX9", "bf16_16", mfma(16, 16)),
    ("GFX9", "f32_16", mfma(16, 4)),
    ("GFX11", "f16_16", GFX11),
    ("GFX11", "bf16_16", GFX11),
    ("GFX12", "f16_16", GFX12),
    ("GFX12", "bf16_16", GFX12),
]


@pytest.fixture(scope="module")
def lanes(tmp_path_factory):
    """The lanes of one generation as a library, compiled once."""
    built: dict[str, CDLL] = {}

    def build(generation: str) -> CDLL:
        if generation not in built:
            compiler = find_device_compiler()
            zig = compiler.command[0]
            output = tmp_path_factory.mktemp(generation) / "lanes.so"
            command = [zig, "clang", "-x", "c++", "--target=x86_64-linux-gnu", *compiler.headers, "-std=c++20", "-O1"]
            command += ["-march=x86-64-v3", "-fPIC", f"-D__{generation}__"]
            command += [f"-DBITGATE_WAVE={64 if generation == 'GFX9' else 32}"]
            command += [f"-I{FOLDER}", f"-I{rooms.room('kernels') / 'include'}", "-c", str(FOLDER / "lanes.cpp")]
            subprocess.run([*command, "-o", f"{output}.o"], check=True)
            subprocess.run([zig, "ld.lld", "-shared", f"{output}.o", "-o", str(output)], check=True)
            built[generation] = CDLL(str(output))
        return built[generation]

    return build


def operands(dtype: str, m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A (m x k) and B (k x m) of small integers, in the type's own bits."""
    generator = np.random.default_rng(m + k)
    shapes = ((m, k), (k, m))
    a, b = (generator.integers(-8, 9, shape).astype(np.float32).astype(TYPES[dtype]) for shape in shapes)
    return a, b


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(("generation", "name", "instruction"), CASES, ids=[f"{g}-{n}" for g, n, _ in CASES])
def test_a_wave_multiplies_as_the_instruction_says(lanes, generation, name, instruction):
    library, (m, k, wave) = lanes(generation), (instruction.m, instruction.k, instruction.wave)
    a, b = operands(name.partition("_")[0], m, k)
    seen_a, seen_b = np.full((m, k), np.nan, np.float32), np.full((k, m), np.nan, np.float32)
    for lane in range(wave):
        registers_a, registers_b = np.zeros(64, a.dtype), np.zeros(64, a.dtype)
        pointers = [array.ctypes.data_as(c_void_p) for array in (a, b, registers_a, registers_b)]
        assert getattr(library, f"load_{name}")(lane, *pointers) == instruction.per_lane
        for element in range(instruction.per_lane):
            at = instruction.reduction(lane, element)
            for seen, place, value in (
                (seen_a, (lane % m, at), registers_a[element]),
                (seen_b, (at, lane % m), registers_b[element]),
            ):
                # On gfx11 two lanes hold one element: they must hold the same.
                assert np.isnan(seen[place]) or seen[place] == np.float32(value)
                seen[place] = np.float32(value)
    done = product(seen_a, seen_b)
    result = np.full((m, m), np.nan, np.float32)
    for lane in range(wave):
        rows = [instruction.row(lane, register) for register in range(m * m // wave)]
        registers = np.ascontiguousarray(done[rows, lane % m])
        getattr(library, f"store_{name}")(lane, *(x.ctypes.data_as(c_void_p) for x in (registers, result)))
    np.testing.assert_array_equal(result, product(a, b))


@pytest.mark.parametrize("generation", ["GFX11", "GFX12"])
def test_f32_fragments_of_32_lanes_are_sums_by_fma(lanes, generation):
    a, b = operands("f32", 16, 4)
    result = np.full((16, 16), np.nan, np.float32)
    for lane in range(32):
        lanes(generation).multiply_f32_16(lane, *(x.ctypes.data_as(c_void_p) for x in (a, b, result)))
    np.testing.assert_array_equal(result, product(a, b))
