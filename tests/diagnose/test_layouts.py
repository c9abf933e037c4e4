"""Strides that a kernel takes for those of a tensor: in what it reads, in what it writes, and where it is stopped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import convolution

from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.verify.diagnose import diagnose
from bitgate.verify.diagnose.layouts import offsets, other_strides
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
