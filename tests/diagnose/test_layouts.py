"""Strides that a kernel takes for those of a tensor: in what it reads, in what it writes, and where it is stopped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import convolution

from bitgate.model import parse_case_id
from bitgate.model.cell_places import offsets
from bitgate.model.host_tensor import HostTensor
from bitgate.verify.diagnose import diagnose
from bitgate.verify.diagnose.layouts import other_strides
from bitgate.verify.diagnose.outside import place_of_fault, stored_elsewhere, written_elsewhere
from bitgate.verify.poison import poison_bits

READ = "fwd_f32_nhwgc_g2n3k8c6_y3x3_h6x6_p1x1_gapinw2"
ROWS = "rmsnorm_f32_r32c4_affine_gapxc2_gapyc8"


def test_an_operand_that_is_read_as_if_it_were_packed(patient) -> None:
    p = patient(READ)
    tensor = p.problem.tensors["in"]
    host = HostTensor.empty(tensor)
    host.bits[...] = p.inputs["in"].view(np.uint32)
    text, strides = next(one for one in other_strides(p.problem, "in") if "packed ones" in one[0])
    p.result = p.convolve(**{"in": host.storage[offsets(tensor.lengths, strides)]})
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "operand"
    assert diagnosis.sentence.startswith(text.split(":")[0])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("bwd_weight_f32_nwgc_g2n2k4c5_y1_h3_gapinc1", "those of dy but for "),
        ("bwd_weight_f32_nwgc_g2n2k4c5_y1_h3", "packed ones of one g"),
    ],
)
def test_strides_of_all_axes_but_one(patient, case, words) -> None:
    """A kernel adds the group's place by itself, and goes on from there as in another tensor, or without groups."""
    p = patient(case)
    tensor = p.problem.tensors["in"]
    _, used = next(one for one in other_strides(p.problem, "in", mixed=True) if words in one[0])
    host = HostTensor.empty(tensor)
    host.bits[...] = p.inputs["in"].view(np.uint32)
    places = offsets(tensor.lengths, used)
    p.result = p.convolve(**{"in": host.storage[np.minimum(places, host.storage.size - 1)]})
    assert words in diagnose(p.scene()).sentence


def test_no_strides_for_a_result_that_is_wrong_otherwise(patient) -> None:
    p = patient(READ)
    p.result = p.result + 1
    assert "strides" not in diagnose(p.scene()).sentence
    assert stored_elsewhere(p.scene()) is None


def test_a_result_that_was_written_with_the_strides_of_another_tensor() -> None:
    problem = parse_case_id(ROWS)
    tensor = problem.tensors["y"]
    right = HostTensor.empty(tensor)
    right.logical[...] = np.arange(1, 129, dtype=np.float32).reshape(32, 4)
    poison = poison_bits(tensor.dtype)
    found = HostTensor(tensor, right.storage.copy())
    found.bits[...] = poison
    found.storage[offsets(tensor.lengths, problem.tensors["x"].strides)] = right.logical
    text = written_elsewhere(problem, found, right, poison)
    assert text.startswith("y is written with strides (6, 1) instead of (12, 1): those of x")
    found.storage[7] = 0
    assert written_elsewhere(problem, found, right, poison) == ""


def test_cells_that_nothing_wrote_are_no_other_layout(patient) -> None:
    """A stride that leads out of memory leaves its cells as a grid does that is too small."""
    p = patient("fwd_f32_nhwgc_g1n2k8c4_y1x1_h4x4")
    p.result[:, 1] = p.poison
    assert stored_elsewhere(p.scene()) is None


def test_the_place_of_a_read_before_the_first_row() -> None:
    problem = convolution("fwd_f32_nhwgc_g1n2k8c4_y3x3_h8x8_p1x1")
    row = problem.tensors["in"].strides[3]
    assert place_of_fault(problem, "in", -4 * row) == "that is x(0,0,0,-1,0) or x(0,-1,0,7,0) (h has 8 and n has 2)"
    assert place_of_fault(problem, "in", 4 * row) == ""
    assert place_of_fault(problem, "workspace", -4) == ""


def test_a_place_outside_is_one_that_the_window_computes() -> None:
    """Strides of 3 lead to row 12 of d, but to no cell with 11: h and w, which end there too, are not named."""
    problem = convolution("bwd_weight_bf16_ndhwgc_g1n3k8c8_y1x1x1_h12x12x12_s3x3x3_q2x0x0")
    place = 2 * 3 * problem.tensors["in"].strides[1]
    assert place_of_fault(problem, "in", place) == "that is x(0,2,0,12,0,0) or x(0,3,0,0,0,0) (d has 12 and n has 3)"


@pytest.mark.parametrize(
    ("element", "cells"),
    [
        (-1 << 31, "x(0,0,1,0) or x(0,0,3,0)"),  # 2^31 and 3 * 2^31 with the sign of bit 31
        ((1 << 33) + 7, "x(0,0,2,7)"),
    ],
)
def test_the_place_of_a_cell_whose_offset_is_cut_to_32_bits(element, cells) -> None:
    """Channels of x are 2^31 elements apart."""
    problem = convolution("fwd_f16_ngcw_g1n1k8c4_y1_h8_gapinw2147483640")
    assert problem.tensors["in"].strides[2] == 1 << 31
    assert place_of_fault(problem, "in", 2 * element) == f"that is the offset of {cells}, cut to 32 bits"


def test_a_place_far_from_all_cells_is_of_no_offset() -> None:
    problem = convolution("fwd_f16_ngcw_g1n1k8c4_y1_h8_gapinw2147483640")
    assert place_of_fault(problem, "in", 2 * (1 << 30)) == ""


def test_the_place_of_a_write_with_the_strides_of_another_tensor() -> None:
    problem = parse_case_id("reduction_f32_o4l5i1_argmax_gapyi8")
    text = place_of_fault(problem, "index", 4 * problem.tensors["y"].strides[0])
    assert text.startswith("as where index is taken with strides (9, 1) instead of (1, 1): those of y")


@pytest.mark.parametrize(
    ("case", "role", "offset", "said"),
    [
        (
            "layernorm_f16_r1c64_affine_gapgammae1",
            "beta",
            128,
            "beta is taken with strides (2,) instead of (1,): those of",
        ),
        (
            "attention_bwd_bf16_b1h2kv2s7t12d32_full_padded_saved_gapkd16",
            "v",
            1536,
            "v is taken with strides (1152, 576, 48, 1) instead of (768, 384, 32, 1): those of k",
        ),
    ],
)
def test_the_first_place_behind_a_tensor_may_follow_from_the_strides_of_another(case, role, offset, said) -> None:
    text = place_of_fault(parse_case_id(case), role, offset)
    assert text.startswith(f"that is {role}(")
    assert f", or as where {said}" in text


def test_a_place_behind_a_tensor_follows_from_no_stride_of_one_axis_by_chance() -> None:
    problem = parse_case_id("reduction_i32_o2l5i40_sum_skauto")
    assert place_of_fault(problem, "y", 320) == "that is y(2,0) or y(1,40) (o has 2 and i has 40)"


def test_no_strides_are_those_of_the_tensor_itself() -> None:
    problem = convolution(READ)
    for role, tensor in problem.tensors.items():
        assert all(strides != tensor.strides for _, strides in other_strides(problem, role))


def read_at(p, role: str, places: np.ndarray) -> np.ndarray:
    """What a kernel reads of an operand at other places of its memory: NaN beyond the end."""
    tensor = p.problem.tensors[role]
    host = HostTensor.empty(tensor)
    host.logical[...] = p.inputs[role]
    memory = host.storage.view(tensor.dtype.numpy)
    inside = places < memory.size
    return np.where(inside, memory[np.where(inside, places, 0)], np.nan)


def places_of(p, role: str, along: str, walk: np.ndarray) -> np.ndarray:
    """The places of cells of which one axis is walked otherwise."""
    tensor = p.problem.tensors[role]
    axis = "gkcyx".index(along)
    strides = (*tensor.strides[:axis], 0, *tensor.strides[axis + 1 :])
    return offsets(tensor.lengths, strides) + walk.reshape([-1 if at == axis else 1 for at in range(5)])


GAPS_IN_W = "fwd_f32_nhwgc_g2n2k32c4_y2x2_h6x6_gapweic4_gapweik96"


def test_a_stride_that_is_computed_from_the_next_one_of_all(patient) -> None:
    p = patient(GAPS_IN_W)
    group, row = p.problem.tensors["wei"].strides[:2]
    assert group // 32 != row
    w = read_at(p, "wei", places_of(p, "wei", "k", np.arange(32) * (group // 32)))
    p.result = p.convolve(wei=w)
    assert "along k that of g over 32; " in diagnose(p.scene()).sentence


@pytest.mark.parametrize(
    ("walk", "words"),
    [
        (lambda k, own, packed: k // 8 * 8 * packed + k % 8 * own, "from one block of 8 to the next along k"),
        (lambda k, own, packed: k // 4 * 4 * own + k % 4 * packed, "within each block of 4 k"),
        (
            lambda k, own, packed: k // 16 * 16 * own + k % 16 // 8 * 8 * packed + k % 8 * own,
            "from one block of 8 to the next along k",
        ),
    ],
)
def test_a_step_by_the_stride_that_packed_rows_would_have(patient, walk, words) -> None:
    p = patient(GAPS_IN_W)
    row = p.problem.tensors["wei"].strides[1]
    w = read_at(p, "wei", places_of(p, "wei", "k", walk(np.arange(32), row, 16)))
    p.result = p.convolve(wei=w)
    sentence = diagnose(p.scene(tile=(16, 16, 16))).sentence
    assert sentence.startswith(f"w is read with stride 16 instead of {row} {words}: a packed one")


def test_cells_that_follow_from_memory_past_a_tensor_may_hold_anything(patient) -> None:
    p = patient(GAPS_IN_W)
    tensor = p.problem.tensors["wei"]
    places = places_of(p, "wei", "k", np.arange(32) * (tensor.strides[0] // 32))
    assert (places >= tensor.space).any()
    w = np.nan_to_num(read_at(p, "wei", places), nan=7.0)
    w[places < tensor.space] = read_at(p, "wei", places)[places < tensor.space]
    p.result = p.convolve(wei=w)
    assert "along k that of g over 32; " in diagnose(p.scene()).sentence


def test_a_result_of_real_numbers_that_was_written_with_other_strides() -> None:
    """A sum that was rounded otherwise is no other place."""
    problem = parse_case_id(ROWS)
    tensor = problem.tensors["y"]
    right = HostTensor.empty(tensor)
    right.logical[...] = np.linspace(1, 9, 128, dtype=np.float32).reshape(32, 4)
    poison = poison_bits(tensor.dtype)
    found = HostTensor(tensor, right.storage.copy())
    found.bits[...] = poison
    found.storage[offsets(tensor.lengths, problem.tensors["x"].strides)] = np.nextafter(right.logical, np.float32(0))
    assert written_elsewhere(problem, found, right, poison).startswith("y is written with strides (6, 1)")


def test_the_place_of_d_that_is_read_at_one_cell_for_all() -> None:
    problem = convolution("bwd_weight_f32_nhwgc_g2n2k2c4_y3x3_h6x6_bilinear_a0_b1_dbgkcyx")
    text = place_of_fault(problem, "d0", 4 * 10)
    assert text.startswith("as where D is taken with strides")
    assert text.endswith("those of dw")


def test_the_first_place_past_a_guard_that_is_aligned() -> None:
    """The first six numbers after dv are in the slack before its guard."""
    problem = parse_case_id("attention_bwd_bf16_b1h1kv1s15t127d38w14_window_padded_gapdkd16")
    assert place_of_fault(problem, "dv", 9664).endswith("instead of (4826, 4826, 38, 1): those of dk")
