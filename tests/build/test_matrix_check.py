"""Which instances must hold which matrix instruction, and what is said of those that do not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bitgate.kernel.build.matrix_check import kernels_of, missing, mnemonics, required
from bitgate.kernel.declaration import Instance
from bitgate.model import F32_ACCUMULATION

MATRIX = Instance(
    "wide", "unit", ("f16",), ("nhwgc",), (2,), F32_ACCUMULATION, (64, 32, 32), (8, 8, 4), 64, 64, (32, 32, 8)
)
OTHER = replace(MATRIX, name="narrow", tile=(32, 32, 32))
TYPES = "7TypesOfILi2ELi2ELi2ELi2ELi2EE"  # code 2: f16
WIDE = f"_Z6kernelI6TilingI{TYPES}6ExtentILi64ELi32ELi32EES0_ILi32ELi32ELi8EE7VectorsILi8ELi8ELi4EEEEvv"
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
    assert str(lacking) == f"narrow: no v_mfma_f32_*[0-9_]f16* in {NARROW}"


def test_kernels_belong_to_the_instance_of_their_parameters():
    assert kernels_of(MATRIX, [WIDE, NARROW]) == (WIDE,)
    assert kernels_of(replace(MATRIX, fragment=(16, 16, 16)), [WIDE, NARROW]) == ()
    assert kernels_of(replace(MATRIX, dtypes=("bf16",)), [WIDE, NARROW]) == ()
    mixed = WIDE.replace(TYPES, "7TypesOfILi5ELi6ELi5ELi5ELi6EE")  # A: f8, B: bf8, C: f8, factors f8 and bf8
    forward = replace(MATRIX, dtypes=("f8ocp_bf8ocp_f8ocp",), operations=("fwd",))
    assert kernels_of(forward, [WIDE, mixed]) == (mixed,)
    assert kernels_of(replace(forward, dtypes=("bf8ocp_f8ocp_f8ocp",)), [WIDE, mixed]) == ()
    rounded = WIDE.replace(TYPES, "7TypesOfILi2ELi2ELi2ELi5ELi5EE")
    assert kernels_of(replace(MATRIX, dtypes=("f16_ctf8ocp",)), [WIDE, rounded]) == (rounded,)


def test_a_unit_without_kernels_and_a_unit_of_unknown_ones():
    assert str(missing([MATRIX], "gfx942", [], {})[0]) == "wide: no v_mfma_f32_*[0-9_]f16* in any kernel"
    code = {"mine": frozenset({"v_mfma_f32_32x32x8_f16"}), "fill": frozenset({"s_endpgm"})}
    assert missing([MATRIX], "gfx942", ["mine", "fill"], code) == []
    assert missing([MATRIX], "gfx942", ["fill"], code)


def of(dtypes, wave=64):
    return replace(MATRIX, dtypes=(dtypes,), wave_size=wave, operations=("fwd",))


@pytest.mark.parametrize(
    ("instance", "target", "instruction"),
    [
        (of("f16"), "gfx90a", "v_mfma_f32_32x32x8f16"),
        (of("f16"), "gfx942", "v_mfma_f32_32x32x8_f16"),
        (of("bf16"), "gfx90a", "v_mfma_f32_16x16x16bf16_1k"),
        (of("bf16"), "gfx950", "v_mfma_f32_16x16x16_bf16"),
        (of("f32"), "gfx90a", "v_mfma_f32_16x16x4f32"),
        (of("f32"), "gfx942", "v_mfma_f32_16x16x4_f32"),
        (of("i8"), "gfx90a", "v_mfma_i32_16x16x16i8"),
        (of("i8"), "gfx950", "v_mfma_i32_16x16x32_i8"),
        (of("f8fnuz"), "gfx942", "v_mfma_f32_16x16x32_fp8_fp8"),
        (of("f8ocp_bf8ocp_f8ocp"), "gfx950", "v_mfma_f32_16x16x32_fp8_bf8"),
        (of("bf8ocp_f8ocp_f8ocp"), "gfx950", "v_mfma_f32_16x16x32_bf8_fp8"),
        (of("f8ocp"), "gfx942", "v_mfma_f32_16x16x16_bf16"),
        (of("f8fnuz"), "gfx90a", "v_mfma_f32_16x16x16bf16_1k"),
        (of("f16_ctf8fnuz"), "gfx942", "v_mfma_f32_16x16x32_fp8_fp8"),
        (of("f16", 32), "gfx1100", "v_wmma_f32_16x16x16_f16"),
        (of("bf16", 0), "gfx1201", "v_wmma_f32_16x16x16_bf16"),
        (of("i8", 32), "gfx1100", "v_wmma_i32_16x16x16_iu8"),
        (of("bf8ocp_bf8ocp_f8ocp", 32), "gfx1201", "v_wmma_f32_16x16x16_bf8_bf8"),
        (of("f8ocp", 32), "gfx1100", "v_wmma_f32_16x16x16_bf16"),
        (of("f8fnuz", 32), "gfx1201", "v_wmma_f32_16x16x16_bf16"),
    ],
)
def test_what_an_instance_must_hold(instance, target, instruction):
    """That instruction, and none of other types."""
    for used in ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x32_bf8_bf8", "v_wmma_f32_16x16x16_fp8_bf8", instruction):
        wrong = missing([instance], target, ["kernel"], {"kernel": frozenset({used})})
        assert bool(wrong) is (kind(used) != kind(instruction))


def kind(instruction):
    """Without its extents, and what gfx90a writes beside them."""
    return re.sub(r"\d+x\d+x\d+_?|_1k", "", instruction)


FOUR_TYPES = replace(MATRIX, dtypes=("f16_f8ocp_f8ocp_f16",), operations=("attention",))


@pytest.mark.parametrize(
    ("instance", "target"),
    [(of("f32", 32), "gfx1201"), (replace(MATRIX, fragment=None), "gfx942"), (FOUR_TYPES, "gfx942")],
)
def test_what_needs_none(instance, target):
    assert required(instance, target) == ()
