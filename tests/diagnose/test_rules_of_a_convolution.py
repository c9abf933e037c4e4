"""Each injury is what a known defect does to a result; the diagnosis has to name it."""

from __future__ import annotations

import json
from dataclasses import replace
from math import gcd

import numpy as np
import pytest

from bitgate.ops.convolution import sub_gemms
from bitgate.ops.convolution.rules.sub_gemms import owners
from bitgate.results.record import KINDS
from bitgate.verify.diagnose import diagnose

NINE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1"


def keep_only(patient, kept, value=0):
    """Return the result of a launch of only some sub-GEMMs."""
    owner = owners(patient.problem).owner
    lost = ~np.isin(owner, [*kept, -1])
    patient.result[..., lost] = value


def test_eight_of_nine_sub_gemms_missing(patient):
    p = patient(NINE)
    keep_only(p, [0])
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("missing_sub_gemm",)
    assert diagnosis.sentence == (
        "sub-GEMMs 1 to 8 of 9 are missing: their cells of dx, (x + pad) mod 3 not (0, 0), are zero;"
        " sub-GEMM 0 is right"
    )
    assert diagnosis.evidence["missing_sub_gemm"]["missing"] == "1 to 8"


def test_one_of_each_bucket_ran(patient):
    p = patient("bwd_data_f16_nhwgc_g1n2k16c16_y6x6_h28x28_s6x6_p1x1")
    keep_only(p, [0, 1])
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "missing_sub_gemm"
    assert "sub-GEMMs 2 to 35 of 36 are missing" in diagnosis.sentence
    assert "are zero; sub-GEMMs 0 and 1 are right" in diagnosis.sentence


@pytest.mark.parametrize("missing", range(4))
def test_each_single_sub_gemm(patient, missing):
    p = patient("bwd_data_f32_nhwgc_g2n2k8c8_y3x3_h9x9_s2x2_p1x1")
    keep_only(p, [i for i in range(4) if i != missing])
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("missing_sub_gemm",)
    tilde = sub_gemms(p.problem)[missing].tilde
    assert diagnosis.sentence.startswith(
        f"sub-GEMM {missing} of 4 is missing: its cells of dx, (x + pad) mod 2 = {tilde}"
    )


def test_a_missing_sub_gemm_that_was_not_zero_filled_either(patient):
    p = patient("bwd_data_f16_nhwgc_g1n2k8c8_y3x3_h9x9_s2x2_p1x1")
    keep_only(p, [1, 2, 3], p.poison)
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("missing_sub_gemm",)
    assert "still poison" in diagnosis.sentence


def test_missing_sub_gemms_in_one_group_only(patient):
    p = patient("bwd_data_f16_nhwgc_g3n2k8c8_y2x2_h8x8_s2x2")
    whole = p.result.copy()
    keep_only(p, [0])
    p.result[[0, 2]] = whole[[0, 2]]
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("missing_sub_gemm", "wrong_group")
    assert "sub-GEMMs 1 to 3 of 4" in diagnosis.sentence
    assert "only in group 1 of 3" in diagnosis.sentence


def test_a_wrong_sub_gemm_is_not_a_missing_one(patient):
    p = patient("bwd_data_f32_nhwgc_g1n2k8c8_y3x3_h9x9_s2x2_p1x1")
    p.result[..., owners(p.problem).owner == 2] += 7
    diagnosis = diagnose(p.scene())
    assert "missing_sub_gemm" not in diagnosis.kinds
    assert "only in sub-GEMM 2 of 4" in diagnosis.sentence


def test_the_zero_fill_is_missing(patient):
    p = patient("bwd_data_f16_nhwgc_g1n2k16c16_y2x2_h12x12_s2x2_d2x2")
    p.result[..., owners(p.problem).owner < 0] = p.poison
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("never_written",)
    assert "the zero-fill is missing" in diagnosis.sentence


def test_nothing_was_written(patient):
    p = patient("fwd_f16_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[...] = p.poison
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "never_written"
    assert diagnosis.sentence.startswith("nothing was written")


def test_all_zero(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[...] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("zero",)
    assert diagnosis.sentence.endswith("they are zero")


@pytest.mark.parametrize(
    ("gap", "places"),
    [
        ("", "(LDS, workspace, memory beyond a tensor, or a lane"),
        ("_gapinw8", "(padding between rows, LDS, workspace, memory beyond"),
    ],
)
def test_nan_from_memory_that_nobody_wrote(patient, gap, places):
    p = patient(f"fwd_f16_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1{gap}")
    p.result[0, 1, 3:5, 2, :] = np.nan
    diagnosis = diagnose(p.scene())
    assert "poison" in diagnosis.kinds
    assert places in diagnosis.sentence


def test_groups_swapped(patient):
    p = patient("bwd_data_f16_gnhwc_g2n2k8c8_y3x3_h8x8_p1x1")
    p.result = p.reference[::-1].copy()
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("wrong_group",)
    assert "group 0 holds the result of group 1" in diagnosis.sentence


def test_the_second_half_of_the_images_is_lost(patient):
    p = patient("bwd_data_f16_nhwgc_g1n4k8c8_y3x3_h8x8_p1x1")
    p.result[:, 1:] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("wrong_image", "zero")
    assert "only in images 1 to 3 of 4; they are zero" in diagnosis.sentence


def test_channel_tail(patient):
    p = patient("fwd_f16_nhwgc_g1n2k35c16_y1x1_h8x8")
    p.result[:, :, 32:] = 0
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "channel_tail"
    assert "only in the last 3 channels of K = 35 (K mod 32 = 3)" in diagnosis.sentence


@pytest.mark.parametrize(
    ("case", "operand", "length", "words"),
    [
        ("bwd_data_f16_nhwgc_g1n2k12c16_y3x3_h10x10_p1x1", "out", 12, "the last 4 of 12 channels of K"),
        ("bwd_data_f16_nhwgc_g2n2k12c16_y3x3_h10x10_s2x2_p1x1", "out", 12, "the last 4 of 12 channels of K"),
        ("fwd_f32_nhwgc_g1n2k16c12_y3x3_h10x10_p1x1", "in", 12, "the last 4 of 12 channels of C"),
    ],
)
def test_k_tail(patient, case, operand, length, words):
    p = patient(case)
    short = p.inputs[operand].copy()
    short[:, :, length - length % 8 :] = 0
    p.result = p.convolve(**{operand: short})
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "k_tail"
    assert words in diagnosis.sentence


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_slice_of_a_split_reduction_missing(patient, stride, lost):
    """Tile K is 16: with stride 1, 9 taps of 3 steps each are cut into slices of 7, 7, 7 and 6."""
    p = patient(f"bwd_data_f32_nhwgc_g2n2k40c8_y3x3_h7x7_s{stride}_p1x1_sk4")
    p.result = sum((without_slice(p, gemm, lost) for gemm in sub_gemms(p.problem)), np.zeros_like(p.reference))
    diagnosis = diagnose(p.scene(tile=(64, 64, 16)))
    assert diagnosis.kinds[0] == "split_slice"
    assert diagnosis.sentence.startswith(f"slice {lost + 1} of 4 of the split reduction is missing from the sums")


def without_slice(patient, gemm, lost):
    """The cells of one sub-GEMM, whose reduction lacks a slice; zero elsewhere."""
    tildes = [s // gcd(s, d) for s, d in zip(patient.problem.stride, patient.problem.dilation, strict=True)]
    steps = [
        (*(t + count * dot for t, count, dot in zip(gemm.tilde, tildes, dots, strict=True)), k)
        for dots in np.ndindex(*gemm.taps)
        for k in range(0, patient.problem.k, 16)
    ]
    length = -(-len(steps) // 4)
    kept = np.zeros_like(patient.inputs["wei"])
    for y, x, k in steps[: lost * length] + steps[(lost + 1) * length :]:
        kept[:, k : k + 16, :, y, x] = patient.inputs["wei"][:, k : k + 16, :, y, x]
    return patient.convolve(wei=kept)


def test_d_in_the_result_itself_was_cleared(patient):
    p = patient("bwd_data_f16_nhwgc_g1n2k8c8_y3x3_h6x6_p1x1_inplace")
    sums = p.reference.astype(np.float64)
    p.inputs["d0"] = np.random.default_rng(1).choice([-2, -1, 1, 2], p.reference.shape).astype(np.float16)
    p.reference = (2 * sums + 3 * p.inputs["d0"]).astype(np.float16)
    p.result = (2 * sums).astype(np.float16)
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("zero",)
    assert "D is in dx itself and counts as 0 in the wrong cells" in diagnosis.sentence
    p.result = (2 * sums + 3 * (3 * p.inputs["d0"])).astype(np.float16)
    assert "overwritten with op(0, D) before the kernel had read it" in diagnose(p.scene()).sentence
    p.result = p.inputs["d0"].copy()
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("never_written",)
    assert "they hold D as it was before the launch" in diagnosis.sentence


def test_cells_that_the_fill_of_an_aliased_d_skips_are_not_written(patient):
    """Every second cell is filled twice and the one between not at all, which evenly spread cells do not show."""
    p = patient("bwd_data_f16_nhwgc_g1n4k16c8_y1x1_h5x9_s2x2_inplace")
    d = np.random.default_rng(1).choice([-3, -2, -1, 1, 2, 3, 4, 5], p.reference.shape)
    p.inputs["d0"] = d.astype(np.float16)
    p.reference = (2 * p.reference.astype(np.float64) + 3 * d).astype(np.float16)
    p.result = p.reference.copy()
    unreached = np.flatnonzero(np.broadcast_to(owners(p.problem).owner < 0, d.shape))
    for factor, places in ((1, unreached[::2]), (9, unreached[1::2])):
        p.result.reshape(-1)[places] = (factor * d.reshape(-1)[places]).astype(np.float16)
    diagnosis = diagnose(p.scene())
    assert "beta" not in diagnosis.sentence
    assert "480 of them hold D as it was before the launch: dx was never written there" in diagnosis.sentence


def test_k_tail_of_bwd_weight_is_the_end_of_the_outputs(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k8c8_y3x3_h6x6_p1x1")
    short = p.inputs["out"].copy()
    short[:, -1, :, -1, -3:] = 0
    p.result = p.convolve(out=short)
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "k_tail"
    assert diagnosis.evidence["k_tail"]["missing"] in (3, 2)  # the very last output is padding for some taps


def test_cells_without_any_sum_are_zero_and_no_k_tail(patient):
    p = patient("bwd_data_f16_nhwgc_g1n3k40c16_y3x3_h9x9_p1x1")
    p.result[0, 2, :, 8, 6:] = 0  # the last rows of the GEMM, in a corner with few taps
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("wrong_image", "zero")
    assert "48 of 3888 cells of dx are wrong, only in image 2 of 3, within h 8, w 6 to 8; they are zero" in (
        diagnosis.sentence
    )


def test_one_tap_missing(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c12_y3x3_h10x10_p1x1")
    holed = p.inputs["wei"].copy()
    holed[..., 2, 1] = 0
    p.result = p.convolve(wei=holed)
    assert "filter tap (2, 1) is missing" in diagnose(p.scene()).sentence


def test_border(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c12_y3x3_h10x10_p1x1")
    p.result[..., [0, -1], :] += 9
    p.result[..., :, [0, -1]] += 9
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("border",)


def test_one_side_of_the_border(patient):
    p = patient("bwd_data_f32_nhwgc_g1n2k16c12_y3x3_h10x10_p1x1")
    p.result[..., :, -1] += 9
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("pad_side", "other")
    assert diagnosis.sentence.endswith("over the high w border; each is 9 more than it should be")


@pytest.mark.parametrize("direction", ["bwd_data", "fwd"])
@pytest.mark.parametrize(
    ("axes", "left", "right", "words"),
    [
        ("s2x2_p0x2_q2x0", (2, 0), (0, 2), "right pad (2, 0) is used where the left one (0, 2) belongs"),
        ("s2x1_p0x2_q2x2", (2, 0), (0, 4), "left pads stand on the wrong axes: (2, 0) is used where (0, 2) belongs"),
    ],
)
def test_pads_of_the_other_side_or_axis(patient, direction, axes, left, right, words):
    p = patient(f"{direction}_f16_nhwgc_g1n2k16c16_y3x3_h10x11_{axes}")
    p.result = p.convolve(replace(p.problem, left_pad=left, right_pad=right))
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("pad_side",)
    assert words in diagnosis.sentence


@pytest.mark.parametrize(("axis", "letter"), [(2, "k"), (3, "h"), (4, "w")])
@pytest.mark.parametrize("distance", [1, -1])
def test_shifted(patient, axis, letter, distance):
    p = patient("fwd_f32_nhwgc_g1n2k16c12_y3x3_h10x10_p1x1")
    p.result = np.roll(p.reference, distance, axis=axis)
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "shifted"
    assert f"shifted by 1 along {letter}" in diagnosis.sentence


def test_overflow(patient):
    p = patient("fwd_f16_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[0, 0, :2] = np.inf
    diagnosis = diagnose(p.scene())
    assert "overflow" in diagnosis.kinds
    assert "they are all infinite" in diagnosis.sentence


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_rounding(patient, dtype):
    p = patient(f"fwd_{dtype}_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    bits = p.result.view(f"u{p.result.dtype.itemsize}")
    bits[(p.reference != 0) & (np.indices(p.reference.shape).sum(axis=0) % 3 == 0)] += 1
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("rounding",)
    assert f"1 unit in the last place of {dtype}" in diagnosis.sentence


def test_a_lost_sign_of_zero_is_no_rounding(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    zeros = p.reference == 0
    assert zeros.any()
    p.result[zeros] = -0.0
    assert "rounding" not in diagnose(p.scene()).kinds


def test_cells_that_the_fill_alone_writes(patient):
    p = patient("bwd_data_f32_nhwgc_g1n2k4c4_y1x1_h8x8_s2x2")
    p.result[..., 1::2, :] = 3
    p.result[..., ::2, 1::2] = 3
    assert "only in cells that no sub-GEMM reaches, where the fill alone writes" in diagnose(p.scene()).sentence


def test_steps_that_are_counted_for_all_taps_at_once(patient):
    """9 taps of 24 channels take 18 steps of 16; 14 would hold their 216 terms."""
    p = patient("fwd_f32_nhwgc_g1n2k4c24_y3x3_h8x8")
    short = p.inputs["wei"].copy()
    short[..., 2, 1:] = 0
    p.result = p.convolve(wei=short)
    said = "(14 steps of 16 hold all terms at once, but each tap takes 2, 18 in all)"
    assert said in diagnose(p.scene(tile=(64, 64, 16))).sentence


def test_race(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    other = p.result.copy()
    other[0, 1, 2] += 1
    diagnosis = diagnose(p.scene(other_run=other, runs=("forward", "reverse")))
    assert diagnosis.kinds == ("race",)
    assert "forward and reverse on the same input differ in 64 of 2048 cells" in diagnosis.sentence


def test_nan_of_other_bits_is_no_race(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[0, 1, 2] = np.nan  # inf / inf
    other = p.result.copy()
    other[0, 1, 2] = np.array(0x7FC00123, np.uint32).view(np.float32)  # 0 * poison in another order
    assert "race" not in diagnose(p.scene(other_run=other, runs=("forward", "reverse"))).kinds
    other[0, 0, 2] += 1
    assert diagnose(p.scene(other_run=other, runs=("forward", "reverse"))).kinds[0] == "race"


def test_the_last_partial_tile(patient):
    p = patient("fwd_f32_nhwgc_g1n3k16c16_y1x1_h7x7")
    rows = p.result.shape[1] * 49
    flat = p.result.transpose(0, 2, 1, 3, 4).reshape(1, 16, rows)
    flat[:, :, 128:] += 5
    p.result = flat.reshape(1, 16, 3, 7, 7).transpose(0, 2, 1, 3, 4).copy()
    diagnosis = diagnose(p.scene(tile=(64, 64, 32)))
    assert "last, partial tile of the GEMM's rows (19 of 64 rows, M = 147)" in diagnosis.sentence


def test_without_a_pattern_the_box_is_named(patient):
    p = patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1")
    p.result[0, 0, 3, 4, 2:5] += np.array([3, 50, 11])
    p.result[0, 1, 9, 2, 2] += 17
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds == ("other",)
    assert "4 of 2048 cells of y are wrong, within k 3 to 9, h 2 to 4, w 2 to 4" in diagnosis.sentence


def test_every_diagnosis_is_small_and_in_the_vocabulary(patient):
    p = patient(NINE)
    generator = np.random.default_rng(1)
    hit = generator.random(p.result.shape) < 0.3
    p.result[hit] = generator.integers(-90, 90, int(hit.sum()))
    diagnosis = diagnose(p.scene(tile=(64, 64, 32)))
    assert set(diagnosis.kinds) <= set(KINDS)
    assert len(json.dumps(diagnosis.evidence)) <= 4096


def test_a_giant_is_thinned_and_keeps_its_last_channels(patient, monkeypatch):
    monkeypatch.setattr("bitgate.verify.diagnose.scene.CELLS", 2000)
    p = patient("bwd_data_f16_nhwgc_g1n2k12c100_y3x3_h10x10_s2x2_p1x1")
    short = p.inputs["out"].copy()
    short[:, :, 8:] = 0
    p.result = p.convolve(out=short)
    scene = p.scene()
    assert scene.result.size < p.result.size
    assert scene.channels[-1] == 99
    assert diagnose(scene).kinds[0] == "k_tail"


def test_a_right_result_has_no_diagnosis(patient):
    with pytest.raises(ValueError, match="nothing is wrong"):
        diagnose(patient("fwd_f32_nhwgc_g1n2k16c16_y3x3_h8x8_p1x1").scene())
