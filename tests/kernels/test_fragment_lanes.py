"""Fragments of AMD GPUs, lane by lane on the CPU: the headers load and store what the instructions' tables say.

The header runs for each lane of a wave; the instruction between is done here, from its table, which says which element
of A, B and D a register of a lane is. No GPU is asked: that the tables are right is the platform self-test's to settle.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from ctypes import CDLL, c_bool, c_int64, c_void_p, create_string_buffer
from dataclasses import dataclass
from itertools import product as pairs
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.core import paths
from bitgate.core.targets import architecture_of, target_id
from bitgate.kernel.build.flags import facts
from bitgate.kernel.build.toolchain import find_device_compiler
from bitgate.model import DTYPES

FOLDER = Path(__file__).parent / "fragment_lanes"
TARGETS = {
    "gfx90a": "gfx90a",
    "gfx942": "gfx942",
    "gfx950": "gfx950",
    "gfx9": "gfx9-4-generic",
    "gfx11": "gfx11-generic",
    "gfx12": "gfx12-generic",
}
"""What has lanes and instructions of its own -> a target of it."""
GFX9 = ("gfx90a", "gfx942", "gfx950", "gfx9")


@dataclass(frozen=True)
class Instruction:
    """``reduction(lane, element)`` is k of an operand's element; rows of A and columns of B are ``lane % m``.
    ``row(lane, register)`` is the row of a result's register; its column is ``lane % m``."""

    name: str
    m: int
    k: int
    wave: int
    per_lane: int
    reduction: Callable[[int, int], int]
    row: Callable[[int, int], int]


def mfma(name: str, m: int, k: int) -> Instruction:
    per_lane = k * m // 64
    return Instruction(
        name,
        m,
        k,
        64,
        per_lane,
        lambda lane, e: lane // m * per_lane + e,
        lambda lane, r: 4 * (64 // m * (r // 4) + lane // m) + r % 4,
    )


def gfx11(name: str) -> Instruction:
    return Instruction(name, 16, 16, 32, 16, lambda lane, e: e, lambda lane, r: 2 * r + lane // 16)


def gfx12(name: str) -> Instruction:
    return Instruction(name, 16, 16, 32, 8, lambda lane, e: 8 * (lane // 16) + e, lambda lane, r: 8 * (lane // 16) + r)


@dataclass(frozen=True)
class Case:
    """A fragment of a target, its reduction, and the instruction that does ``k / instruction.k`` steps of it, on
    elements of type ``through`` where that is not the fragment's own."""

    target: str
    fragment: str
    k: int
    instruction: Instruction
    through: str = ""

    def __str__(self) -> str:
        return f"{self.target}-{self.fragment}"


def cases_16_and_32_bit() -> list[Case]:
    cases = []
    for target in GFX9:
        cases += [
            Case(target, "f16_f16", 16, mfma("f32_16x16x16f16", 16, 16)),
            Case(target, "bf16_bf16", 16, mfma("f32_16x16x16bf16_1k", 16, 16)),
            Case(target, "f16_f16_wide", 8, mfma("f32_32x32x8f16", 32, 8)),
            Case(target, "bf16_bf16_wide", 8, mfma("f32_32x32x8bf16_1k", 32, 8)),
            Case(target, "f32_f32", 4, mfma("f32_16x16x4f32", 16, 4)),
        ]
    for target, wmma in (("gfx11", gfx11), ("gfx12", gfx12)):
        cases += [
            Case(target, "f16_f16", 16, wmma("f32_16x16x16_f16")),
            Case(target, "bf16_bf16", 16, wmma("f32_16x16x16_bf16")),
        ]
    return cases


def cases_i8() -> list[Case]:
    return [
        Case("gfx90a", "i8_i8", 32, mfma("i32_16x16x16i8", 16, 16)),
        Case("gfx942", "i8_i8", 32, mfma("i32_16x16x32_i8", 16, 32)),
        Case("gfx950", "i8_i8", 32, mfma("i32_16x16x32_i8", 16, 32)),
        Case("gfx9", "i8_i8", 32, mfma("i32_16x16x32_i8", 16, 32)),
        Case("gfx11", "i8_i8", 16, gfx11("i32_16x16x16_iu8")),
        Case("gfx12", "i8_i8", 16, gfx12("i32_16x16x16_iu8")),
    ]


NATIVE_FLAVOUR = {"gfx942": "fnuz", "gfx950": "ocp", "gfx12": "ocp"}


def cases_8_bit_floats() -> list[Case]:
    """The target's own flavour has instructions; the other one, and both where there are none, go through bf16."""
    cases = []
    for target, flavour, (a, b) in pairs(TARGETS, ("ocp", "fnuz"), pairs(("f8", "bf8"), repeat=2)):
        fragment, k = f"{a}{flavour}_{b}{flavour}", 32 if target in GFX9 else 16
        mixed = "_".join({"f8": "fp8", "bf8": "bf8"}[x] for x in (a, b))
        if NATIVE_FLAVOUR.get(target) == flavour:
            native = mfma(f"f32_16x16x32_{mixed}", 16, 32) if k == 32 else gfx12(f"f32_16x16x16_{mixed}")
            cases.append(Case(target, fragment, k, native))
        else:
            wide = {"gfx11": gfx11("f32_16x16x16_bf16"), "gfx12": gfx12("f32_16x16x16_bf16")}
            through = wide.get(target, mfma("f32_16x16x16bf16_1k", 16, 16))
            cases.append(Case(target, fragment, k, through, "bf16"))
    return cases


CASES = cases_16_and_32_bit() + cases_i8() + cases_8_bit_floats()


@pytest.fixture(scope="module")
def lanes(tmp_path_factory):
    """The lanes of one target as a library, compiled once."""
    built: dict[str, CDLL] = {}

    def build(target: str) -> CDLL:
        if target not in built:
            compiler = find_device_compiler()
            zig = compiler.command[0]
            output = tmp_path_factory.mktemp(target) / "lanes.so"
            command = [zig, "clang", "-x", "c++", "--target=x86_64-linux-gnu", *compiler.headers, "-std=c++20", "-O1"]
            command += ["-march=x86-64-v3", "-fPIC", *facts(target_id(TARGETS[target]))]
            command += [f"-I{FOLDER}", f"-I{paths.data_folder('kernels') / 'include'}", "-c", str(FOLDER / "lanes.cpp")]
            subprocess.run([*command, "-o", f"{output}.o"], check=True)
            subprocess.run([zig, "ld.lld", "-shared", f"{output}.o", "-o", str(output)], check=True)
            built[target] = CDLL(str(output))
        return built[target]

    return build


def dtype_of(name: str) -> np.dtype:
    return DTYPES[name].numpy


def operands(a: str, b: str, m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A (m x k) and B (k x m) of small integers, in the types' own bits."""
    generator = np.random.default_rng(m + k)
    return (
        generator.integers(-8, 9, (m, k)).astype(np.float32).astype(dtype_of(a)),
        generator.integers(-8, 9, (k, m)).astype(np.float32).astype(dtype_of(b)),
    )


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


def pointer(array: np.ndarray) -> c_void_p:
    return array.ctypes.data_as(c_void_p)


@pytest.mark.parametrize("case", [case for case in cases_16_and_32_bit() if "f32_f32" not in case.fragment], ids=str)
def test_operands_that_lie_turned_are_loaded_alike(lanes, case):
    alike, m = getattr(lanes(case.target), f"loads_alike_{case.fragment}"), case.instruction.m
    alike.restype = c_bool
    one, other = case.fragment.split("_")[:2]
    a, b = operands(one, other, m, case.k)
    turned = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    for lane in range(case.instruction.wave):
        assert alike(lane, *map(pointer, (a, b, *turned)))
        assert not alike(lane, *map(pointer, (a, b, *turned[::-1])))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_wave_multiplies_as_the_instruction_says(lanes, case):
    library, instruction = lanes(case.target), case.instruction
    m, wave, steps = instruction.m, instruction.wave, case.k // instruction.k
    type_a, type_b = case.fragment.split("_")[:2]
    a, b = operands(type_a, type_b, m, case.k)
    seen_a, seen_b = np.full(a.shape, np.nan, np.float32), np.full(b.shape, np.nan, np.float32)
    for lane in range(wave):
        count = steps * instruction.per_lane
        registers_a = np.zeros(count, dtype_of(case.through or type_a))
        registers_b = np.zeros(count, dtype_of(case.through or type_b))
        names = create_string_buffer(1000)
        multiply = getattr(library, f"multiply_{case.fragment}")
        multiply(lane, pointer(a), pointer(b), names, pointer(registers_a), pointer(registers_b))
        assert names.value.decode().split() == [instruction.name] * steps
        for element in range(count):
            step, within = divmod(element, instruction.per_lane)
            at = step * instruction.k + instruction.reduction(lane, within)
            for seen, place, value in (
                (seen_a, (lane % m, at), registers_a[element]),
                (seen_b, (at, lane % m), registers_b[element]),
            ):
                # On gfx11 two lanes hold one element: they must hold the same.
                assert np.isnan(seen[place]) or seen[place] == np.float32(value)
                seen[place] = np.float32(value)
    sums = np.int32 if type_a == "i8" else np.float32
    matrix = architecture_of(TARGETS[case.target]).matrix
    assert matrix
    exact_range = c_int64.in_dll(library, f"exact_range_{case.fragment}").value
    assert exact_range == matrix.exact_range["i32" if type_a == "i8" else "f32"]
    done = product(seen_a, seen_b).astype(sums)
    result = np.full((m, m), -1, sums)
    for lane in range(wave):
        rows = [instruction.row(lane, register) for register in range(m * m // wave)]
        registers = np.ascontiguousarray(done[rows, lane % m])
        getattr(library, f"store_{case.fragment}")(lane, pointer(registers), pointer(result))
    np.testing.assert_array_equal(result, product(a, b))


@pytest.mark.parametrize("target", ["gfx11", "gfx12"])
def test_f32_fragments_of_32_lanes_are_sums_by_fma(lanes, target):
    a, b = operands("f32", "f32", 16, 4)
    result = np.full((16, 16), np.nan, np.float32)
    for lane in range(32):
        lanes(target).sum_f32_f32(lane, pointer(a), pointer(b), pointer(result))
    np.testing.assert_array_equal(result, product(a, b))


@pytest.mark.parametrize("fragment", ["f8ocp_bf8ocp", "bf8ocp_f8ocp", "f8fnuz_bf8fnuz", "bf8fnuz_f8fnuz"])
def test_every_code_goes_through_bf16_exactly(lanes, fragment):
    """All 256 codes, NaN and infinities among them, as the operands of gfx90a's instruction."""
    types = fragment.split("_")
    codes = np.arange(256, dtype=np.uint8)
    seen: list[set[Any]] = [set(), set()]
    for half in (codes[:128], codes[128:]):
        tiles = [np.tile(half, 4).reshape(shape) for shape in ((16, 32), (32, 16))]
        for lane in range(64):
            registers, names = [np.zeros(8, dtype_of("bf16")) for _ in types], create_string_buffer(1000)
            pointers = [*map(pointer, tiles), names, *map(pointer, registers)]
            getattr(lanes("gfx90a"), f"multiply_{fragment}")(lane, *pointers)
            for values, register in zip(seen, registers, strict=True):
                values.update(register.astype(np.float32).view(np.uint32).tolist())
    for values, name in zip(seen, types, strict=True):
        expected = codes.view(dtype_of(name)).astype(np.float32)
        found = np.array(sorted(values), np.uint32).view(np.float32)
        finite = expected[~np.isnan(expected)]
        assert np.isnan(found).any()
        assert set(found[~np.isnan(found)].view(np.uint32)) == set(finite.view(np.uint32))
