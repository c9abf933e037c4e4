"""Which instances must hold which matrix instruction, and what is said of those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bitgate.build.matrix_check import kernels_of, missing, mnemonics, required
from bitgate.kernel.declaration import Instance
from bitgate.problem.accumulation import F32_ACCUMULATION

MATRIX = Instance(
    "wide", "unit", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION, (64, 32, 32), (8, 8, 4), 64, 64, (32, 32, 8)
)
OTHER = replace(MATRIX, name="narrow", tile=(32, 32, 32))
WIDE = "_Z6kernelI6TilingI6ExtentILi64ELi32ELi32EES0_ILi32ELi32ELi8EE7VectorsILi8ELi8ELi4EEEEvv"
NARROW = WIDE.replace("Li64E", "Li32E")

COMPILED = f"""
{WIDE}: ; @{WIDE}
; %bb.0:
	s_load_dwordx2 s[0:1], s[4:5], 0x0
.LBB0_1:
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0
	s_endpgm
.Lfunc_end0:
	.size	{WIDE}, .Lfunc_end0-{WIDE}
	; v_mfma in a comment
{NARROW}:
	v_fma_f32 v0, v1, v2, v3
	s_endpgm
.Lfunc_end1:
"""
DISASSEMBLED = f"""
0000000000001900 <{WIDE}>:
	s_load_dwordx2 s[0:1], s[4:5], 0x0          // 000000001900: C0060002
	v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], 0
	s_endpgm

0000000000001a00 <{NARROW}>:
	v_fma_f32 v0, v1, v2, v3
	s_endpgm
"""


@pytest.mark.parametrize("text", [COMPILED, DISASSEMBLED])
def test_instructions_are_read_by_function(text):
    code = mnemonics(text)
    assert code.keys() == {WIDE, NARROW}
    assert code[NARROW] == {"v_fma_f32", "s_endpgm"}
    assert missing([MATRIX], "gfx942", [WIDE, NARROW], code) == []
    (lacking,) = missing([MATRIX, OTHER], "gfx942", [WIDE, NARROW], code)
    assert str(lacking) == f"narrow: no v_mfma_... in {NARROW}"


def test_kernels_belong_to_the_instance_whose_numbers_they_hold():
    assert kernels_of(MATRIX, [WIDE, NARROW]) == (WIDE,)
    assert kernels_of(replace(MATRIX, fragment=(16, 16, 16)), [WIDE, NARROW]) == ()


def test_a_unit_without_kernels_and_a_unit_of_unknown_ones():
    assert str(missing([MATRIX], "gfx942", [], {})[0]) == "wide: no v_mfma_... in any kernel"
    code = {"mine": frozenset({"v_mfma_f32_32x32x8_f16"}), "fill": frozenset({"s_endpgm"})}
    assert missing([MATRIX], "gfx942", ["mine", "fill"], code) == []
    assert missing([MATRIX], "gfx942", ["fill"], code)


@pytest.mark.parametrize(
    ("instance", "target", "instruction"),
    [
        (MATRIX, "gfx90a", "v_mfma_"),
        (replace(MATRIX, dtypes=("f32",)), "gfx950", "v_mfma_"),
        (replace(MATRIX, wave_size=32), "gfx1100", "v_wmma_"),
        (replace(MATRIX, wave_size=0), "gfx1201", "v_wmma_"),
        (replace(MATRIX, wave_size=32, dtypes=("f32",)), "gfx1201", ""),
        (replace(MATRIX, fragment=None), "gfx942", ""),
    ],
)
def test_what_an_instance_must_hold(instance, target, instruction):
    assert required(instance, target) == instruction
