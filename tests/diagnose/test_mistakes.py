"""A result that is right for another computation is diagnosed by that computation's name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bitgate.ops.convolution.rules.sums import OutsideError, Window, terms
from bitgate.ops.convolution.rules.window import carry_mistakes
from bitgate.verify.diagnose import diagnose
from bitgate.verify.diagnose.mistakes import Recomputed
from bitgate.verify.diagnose.slices import slice_edges

FWD = "fwd_f32_nhwgc_g2n3k8c6_y3x2_h9x7_s2x1_p1x1"
BILINEAR = f"{FWD}_bilinear"


@pytest.fixture
def bilinear(patient):
    """A case with alpha 2 and beta 3; ``sums`` and ``d`` are what they act on."""
    p = patient(BILINEAR)
    p.sums = p.reference.astype(np.float64)
    p.d = np.random.default_rng(1).integers(-4, 5, p.reference.shape).astype(np.float64)
    p.inputs["d0"] = p.d.astype(np.float32)
    p.reference = (2 * p.sums + 3 * p.d).astype(np.float32)
    return p


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda v, d: v + 3 * d, "alpha = 2 is left out"),
        (lambda v, d: 4 * v + 3 * d, "alpha = 2 is applied twice"),
        (lambda v, d: 2 * v + d, "beta = 3 is left out"),
        (lambda v, d: 2 * v, "D is left out"),
        (lambda v, d: 2 * v - 3 * d, "D is subtracted"),
        (lambda v, d: 3 * d, "the sum is left out: D alone is written"),
        (lambda v, d: 3 * v + 2 * d, "alpha and beta, or D and the sum, are swapped"),
        (lambda v, d: 2 * v + 3 * d[:, :1], "D is read at n 0 for every n"),
        (lambda v, d: 2 * v + 3 * d[:, [0, 1, 0]], "D is read at n mod 2: the offset of later parts is left out"),
    ],
)
def test_of_a_bilinear_operation(bilinear, wrong, words):
    bilinear.result = np.broadcast_to(wrong(bilinear.sums, bilinear.d), bilinear.d.shape).astype(np.float32)
    diagnosis = diagnose(bilinear.scene())
    assert diagnosis.kinds[0] == "epilogue"
    assert diagnosis.sentence.startswith(words)


def test_a_relu_that_is_left_out(patient):
    p = patient(f"{FWD}_relu")
    p.result, p.reference = p.reference, np.maximum(p.reference, 0)
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("relu is left out; ")
    assert sentence.endswith(" recomputed)")


def by_window(p, window):
    """The result of a kernel that takes the window so."""
    cells = np.ndindex(*p.reference.shape)
    values = [terms(p.problem, p.inputs, cell, window).sum() for cell in cells]
    return np.array(values, np.float32).reshape(p.reference.shape)


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"stride": (1, 1)}, "the stride of w = 1 is used for h, whose stride is 2"),
        ({"dilation": (1, 1)}, "the dilation of h = 1 is used for w, whose dilation is 2"),
        ({"dilation": (2, 1)}, "dilations stand on the wrong axes: (2, 1) is used where (1, 2) belongs"),
        ({"left_pad": (1, 0)}, "coordinates along h are one too low: as with left pad 1, not 0"),
    ],
)
def test_of_another_axis(patient, direction, window, words):
    p = patient(f"{direction}_f32_nhwgc_g1n2k4c4_y2x2_h8x8_s2x1_d1x2_p0x0")
    p.result = by_window(p, replace(Window.of(p.problem), **window))
    assert diagnose(p.scene()).sentence.startswith(words)


def test_strides_that_are_taken_for_powers_of_2(patient):
    p = patient("bwd_data_f32_nhwgc_g1n2k4c4_y3x3_h9x8_s3x2_p1x1")
    p.result = by_window(p, replace(Window.of(p.problem), masked=True))
    assert diagnose(p.scene()).sentence.startswith("the strides (3, 2) are taken for powers of 2")


def by_two_windows(p, read, checked):
    """The result of a kernel that reads elsewhere than it checks; 77 where it leaves the operand's axes."""
    result = np.full(p.reference.shape, 77, np.float32)
    for cell in np.ndindex(*p.reference.shape):
        with suppress(OutsideError):
            result[cell] = terms(p.problem, p.inputs, cell, replace(read, bounds=checked)).sum()
    return result


@pytest.mark.parametrize("direction", ["fwd", "bwd_data"])
def test_of_what_is_read_alone(patient, direction):
    p = patient(f"{direction}_f32_nhwgc_g1n2k4c4_y3x3_h12x12_d1x2_p1x1")
    window = Window.of(p.problem)
    p.result = by_two_windows(p, replace(window, dilation=(1, 1)), window)
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("the dilation of h = 1 is used for w, whose dilation is 2 where elements are read, not")


def test_a_parameter_goes_before_elements_that_are_the_same(patient):
    """Two outputs of stride 4: with the dilation 2 for it, the second one reads what is at h 0 for every h."""
    p = patient("bwd_weight_f16_nhwgc_g1n40k5c1_y2x5_h4x4_s4x3_d2x2_p2x8_q1x0_sk2")
    window = Window.of(p.problem)
    p.result = by_two_windows(p, replace(window, stride=(2, 3)), window).astype(np.float16)
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("the dilation 2 of h is used for its stride 4 where elements are read, not where these")
    assert "inside or x is read at h 0 for every h; 9 of 50" in sentence


def test_of_what_is_checked_alone(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c4_y3x3_h12x12_s1x2_p1x1")
    window = Window.of(p.problem)
    p.result = by_two_windows(p, window, replace(window, stride=(2, 2)))
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("the stride of w = 2 is used for h, whose stride is 1 where elements are checked to be")


@pytest.mark.parametrize(
    ("apart", "words"),
    [
        ((2, 1), "the dilation is not divided by what it has in common with the stride"),
        ((1, 2), "along w the stride"),
    ],
)
def test_taps_of_a_sub_gemm_that_are_a_wrong_number_of_outputs_apart(patient, apart, words):
    p = patient("bwd_data_f32_nhwgc_g1n2k4c4_y4x4_h12x12_s2x2_d2x1_p1x1")
    p.result = by_window(p, replace(Window.of(p.problem), apart=apart))
    assert words in diagnose(p.scene()).sentence


@pytest.mark.parametrize(
    ("operand", "change", "words"),
    [
        ("wei", lambda w: np.broadcast_to(w[:1], w.shape), "w is read at g 0 for every g"),
        ("wei", lambda w: w[..., ::-1, :], "w is read backwards along y"),
        ("in", lambda x: np.roll(x, 1, axis=2), "x is read at c - 1"),
        ("in", lambda x: x[:, :, [0, 1, 2, 3, 0, 1]], "x is read at c mod 4: the offset of later parts is left out"),
    ],
)
def test_of_other_elements(patient, operand, change, words):
    p = patient(FWD.replace("y3x2", "y3x3"))
    p.result = p.convolve(**{operand: change(p.inputs[operand])})
    assert diagnose(p.scene()).sentence.startswith(words)


def test_a_filter_coordinate_that_carries_late(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c4_y3x2_h8x8_p1x1")
    mistake = next(one for one in carry_mistakes(Recomputed(p.scene(), terms)) if "carries at 3" in one.text)
    p.result = np.array([mistake.value(cell) for cell in np.ndindex(*p.reference.shape)], np.float32)
    p.result = p.result.reshape(p.reference.shape)
    assert diagnose(p.scene()).sentence.startswith("the filter coordinate of w carries at 3 instead of 2")


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ((0, 49, 96), "slice 2 of 3 of the split reduction begins 1 term late"),
        ((0, 32, 80), "every slice but the first of 3 of the split reduction begins 16 terms early"),
    ],
)
def test_a_slice_that_begins_at_a_wrong_term(patient, starts, words):
    """7 steps of Tile K = 16 are cut into slices of 3, 3 and 1; the last step has 2 terms."""
    p = patient("bwd_weight_f32_nhwgc_g1n2k4c4_y2x2_h8x8_sk3")
    assert slice_edges(98, 16, 3) == [0, 48, 96, 112]
    sums = [terms(p.problem, p.inputs, cell).reshape(-1) for cell in np.ndindex(*p.reference.shape)]
    values = [sum(one[a:b].sum() for a, b in zip(starts, (48, 96, 98), strict=True)) for one in sums]
    p.result = np.array(values, np.float32).reshape(p.reference.shape)
    diagnosis = diagnose(p.scene(tile=(64, 64, 16)))
    assert diagnosis.kinds[0] == "split_slice"
    assert diagnosis.sentence.startswith(words)


def test_a_few_small_cells_agree_by_chance(patient):
    """Two cells of 1 fit too many mistakes."""
    p = patient("fwd_i8_nhwgc_g1n1k2c1_y1x1_h1x1_scale")
    p.reference = (2 * p.reference).astype(np.int8)
    p.result = (p.reference // 2).astype(np.int8)
    assert "alpha" not in diagnose(p.scene()).sentence


def test_every_other_run_of_lanes(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c64_y1x1_h5x5")
    short = p.inputs["in"].copy()
    short.reshape(*short.shape[:2], 2, 32, *short.shape[3:])[:, :, :, 16:] = 0
    p.result = p.convolve(**{"in": short})
    assert diagnose(p.scene()).sentence.startswith("the second half of every 32 terms of the GEMM's K is missing")


def test_a_block_without_its_last_wave(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c300_y1x1_h5x5")
    short = p.inputs["in"].copy()
    short[:, :, np.arange(300) % 128 >= 96] = 0
    p.result = p.convolve(**{"in": short})
    said = "numbers 97 to 128, a wave, of every 128 terms of the GEMM's K are missing from the sums"
    assert diagnose(p.scene()).sentence.startswith(said)


def test_steps_that_are_stale_in_shared_memory(patient):
    """Two steps of 16 are in shared memory at a time; from the third on every second one is that before."""
    p = patient("fwd_f32_nhwgc_g1n2k4c112_y1x1_h5x5")
    step = np.array([0, 1, 1, 3, 3, 5, 5])
    order = (16 * step[:, None] + np.arange(16)).reshape(-1)
    p.result = p.convolve(**{"in": p.inputs["in"][:, :, order], "wei": p.inputs["wei"][:, :, order]})
    said = "every second step from step 3 on of 7 steps of K (16 terms each) holds the terms of 1 step earlier"
    assert diagnose(p.scene(tile=(64, 64, 16))).sentence.startswith(said)


def test_a_step_that_is_stale_in_each_slice(patient):
    """Three slices of 3, 3 and 2 steps: the third step of each holds the terms of the second."""
    p = patient("bwd_weight_f32_nhwgc_g1n2k4c4_y1x1_h8x8_sk3")
    step = np.array([0, 1, 1, 3, 4, 4, 6, 7])
    order = (16 * step[:, None] + np.arange(16)).reshape(-1)
    terms_of_dy, terms_of_x = (
        np.moveaxis(p.inputs[role], 2, -1).reshape(1, 128, 4)[:, order] for role in ("out", "in")
    )
    p.result = np.einsum("gtk,gtc->gkc", terms_of_dy, terms_of_x).reshape(p.reference.shape).astype(np.float32)
    said = "step 3 of 3 steps of K (16 terms each) in each of 3 slices holds the terms of 1 step earlier"
    assert diagnose(p.scene(tile=(64, 64, 16))).sentence.startswith(said)


def test_a_reduction_that_ends_at_another_length(patient):
    p = patient("fwd_f32_nhwgc_g1n2k24c40_y1x1_h5x5")
    short = p.inputs["in"].copy()
    short[:, :, 24:] = 0
    p.result = p.convolve(**{"in": short})
    sentence = diagnose(p.scene()).sentence
    assert sentence.startswith("the last 16 of 40 channels of C are missing")
    assert "it ends at K = 24" in sentence


def test_a_row_of_outputs_is_missing(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k8c8_y3x3_h8x8_p1x1")
    short = p.inputs["out"].copy()
    short[..., 0, :] = 0
    p.result = p.convolve(out=short)
    assert diagnose(p.scene()).sentence.startswith("the products of output h 0 of 8 are missing from the sums")


def test_the_last_rows_of_outputs_are_missing(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k8c8_y3x3_h8x6_p1x1")
    short = p.inputs["out"].copy()
    short[..., 6:, :] = 0
    p.result = p.convolve(out=short)
    words = "the products of the last 2 of 8 values of output h are missing from the sums"
    assert diagnose(p.scene()).sentence.startswith(words)


def test_zeros_show_no_lost_end(patient):
    """A relu with a wrong threshold clears two cells; without their last term they would be cleared, too."""
    p = patient(f"{FWD}_relu")
    p.inputs["in"] = np.abs(p.inputs["in"])
    p.reference = np.maximum(p.convolve(), 0)
    p.result = np.where((p.reference > 0) & (p.reference < 3), np.float32(0), p.reference)
    assert (p.result != p.reference).any()
    assert "missing from the sums" not in diagnose(p.scene()).sentence


def test_a_part_in_the_middle_is_missing(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n1k8c8_y1x1_h8x8")
    short = p.inputs["out"].copy()
    short.reshape(1, 1, 8, 64)[..., 24:40] = 0
    p.result = p.convolve(out=short)
    words = "terms 25 to 40 of 64 terms of the GEMM's K = N * outputs are missing from the sums"
    assert diagnose(p.scene()).sentence.startswith(words)


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ((1, 2, 0, 1), "step 3 of 4 steps of K (16 terms each) holds the terms of step 2"),
        ((1, 3, 0, 0), "step 2 of 4 steps of K (16 terms each) is computed again for all steps after it"),
    ],
)
def test_a_step_that_holds_the_terms_of_another(patient, factors, words):
    p = patient("bwd_weight_f32_nhwgc_g1n1k8c8_y1x1_h8x8")
    weighted = p.inputs["out"].reshape(1, 1, 8, 4, 16) * np.array(factors, np.float32)[:, None]
    p.result = p.convolve(out=weighted.reshape(p.inputs["out"].shape))
    assert diagnose(p.scene(tile=(64, 64, 16))).sentence.startswith(words)


def test_strides_for_dilations(patient):
    p = patient("bwd_data_f32_nhwgc_g1n2k4c4_y3x3_h9x9_s2x2_p1x1")
    p.result = by_window(p, replace(Window.of(p.problem), dilation=(2, 2)))
    assert diagnose(p.scene()).sentence.startswith("the strides (2, 2) are used for the dilations (1, 1)")


def test_a_bound_of_another_tensor(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c4_y3x3_h9x9_s2x2_p1x1")
    p.result = by_window(p, replace(Window.of(p.problem), reach=p.problem.output))
    assert diagnose(p.scene()).sentence.startswith("coordinates of the input end at the lengths of the output (5, 5)")


def test_d_of_the_first_row_of_a_vector(bilinear):
    first = np.arange(8) // 4 * 4
    bilinear.result = (2 * bilinear.sums + 3 * bilinear.d[:, :, first]).astype(np.float32)
    assert diagnose(bilinear.scene()).sentence.startswith("D is read at the first of every 4 k")


def test_sums_that_pass_through_a_narrower_type(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c16_y3x3_h6x6_p1x1_scale")
    p.inputs = {name: array * np.float32(5) for name, array in p.inputs.items()}
    sums = p.convolve()
    p.reference, p.result = 2 * sums, 2 * sums.astype(np.float16).astype(np.float32)
    assert (np.abs(sums) > 2048).any()
    assert diagnose(p.scene()).sentence.startswith("the sums are rounded to f16 before they are finished")


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (slice(None, None, -1), "the values are mirrored along h"),
        ([0, 0, 2, 2, 4, 4, 6, 6], "the values are shifted by 1 along h: cell h holds that of h - 1"),
        ([2, 3, 0, 1, 6, 7, 4, 5], "the right values stand in another order along h: h 0 that of 2, 1 that of 3"),
    ],
)
def test_right_values_in_other_rows(patient, order, words):
    p = patient("fwd_f32_nhwgc_g1n2k4c16_y3x3_h8x5_p1x1")
    p.inputs = {name: array * np.float32(101) + np.float32(7) for name, array in p.inputs.items()}
    p.reference = p.convolve()
    p.result = p.reference[:, :, :, order].copy()
    diagnosis = diagnose(p.scene())
    assert diagnosis.kinds[0] == "shifted"
    assert diagnosis.sentence.startswith(words)


def test_cells_near_the_right_ones_say_nothing_of_a_slice(patient):
    p = patient("bwd_weight_bf16_nhwgc_g1n2k40c8_y2x2_h4x4_sk2")
    rng = np.random.default_rng(2)
    p.inputs = {name: rng.uniform(-1, 1, x.shape).astype(x.dtype) for name, x in p.inputs.items()}
    p.inputs["in"][:, 1] = 0  # so a slice may begin late in the second image
    p.reference = p.convolve()
    up = np.nextafter(p.reference, np.array(np.inf, p.reference.dtype))
    p.result = np.where(rng.random(p.reference.shape) < 0.1, up, p.reference)
    assert diagnose(p.scene(exact=False)).kinds == ("rounding",)


def test_slices_that_are_all_added_twice(patient):
    p = patient("bwd_weight_f32_nhwgc_g1n2k4c4_y2x2_h8x8_sk2")
    p.result[:, 3] *= 2
    sentence = diagnose(p.scene(tile=(64, 64, 16))).sentence
    assert sentence.startswith("every slice of 2 of the split reduction is added twice")


def test_slices_that_overwrite_each_other(patient):
    """The last slice of each order stays: a race, and the cells say of what."""
    p = patient("bwd_weight_f32_nhwgc_g1n2k4c4_y2x2_h8x8_sk2")
    sums = [terms(p.problem, p.inputs, cell).reshape(-1) for cell in np.ndindex(*p.reference.shape)]
    edges = slice_edges(98, 16, 2)
    first, second = (
        np.array([one[begin:end].sum() for one in sums], np.float32).reshape(p.reference.shape)
        for begin, end in pairwise(edges)
    )
    p.result = second
    diagnosis = diagnose(p.scene(tile=(64, 64, 16), other_run=first, runs=("forward", "reverse")))
    assert diagnosis.kinds == ("race", "split_slice")
    assert "in forward: slice 1 of 2 of the split reduction is missing from the sums" in diagnosis.sentence
    assert "slice 2 of 2 of the split reduction alone: slices overwrite each other" in diagnosis.sentence


def test_a_race_is_not_explained_by_anything_but_slices(patient):
    p = patient("fwd_f32_nhwgc_g1n2k4c4_y2x2_h8x8")
    p.result = p.convolve(**{"in": p.inputs["in"] * 0})
    diagnosis = diagnose(p.scene(other_run=p.reference, runs=("forward", "reverse")))
    assert diagnosis.kinds[0] == "race"
    assert "in forward:" not in diagnosis.sentence


def test_slices_that_the_kernel_chose(patient):
    """The dispatch record says how many slices an automatic split has."""
    p = patient("bwd_weight_f32_nhwgc_g1n2k4c4_y2x2_h8x8_skauto")
    begin, end = slice_edges(98, 16, 3)[1:3]
    sums = [terms(p.problem, p.inputs, cell).reshape(-1) for cell in np.ndindex(*p.reference.shape)]
    values = [one.sum() - one[begin:end].sum() for one in sums]
    p.result = np.array(values, np.float32).reshape(p.reference.shape)
    sentence = diagnose(p.scene(tile=(64, 64, 16), slices=3)).sentence
    assert sentence.startswith("slice 2 of 3 of the split reduction is missing from the sums")
    assert "slice" not in diagnose(p.scene(tile=(64, 64, 16))).sentence
