"""The sentence and the picture of a planted defect name the same place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.diagnose.conftest import Patient
from tests.report.views import squares

from bitgate.ops.convolution.rules.sub_gemms import owners
from bitgate.results.report.page.picture import Picture, picture_of
from bitgate.verify.diagnose import diagnose
from bitgate.verify.view import view_of

FWD = "fwd_f32_nhwgc_g2n3k40c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"
BWD = "bwd_data_f32_nhwgc_g1n2k8c8_y3x3_h9x9_s2x2_d1x1_p1x1_q1x1"
WEIGHT = "bwd_weight_f32_nhwgc_g1n2k32c16_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"

EDGE = {(y, x) for y in range(8) for x in range(8) if y in (0, 7) or x in (0, 7)}
ALL = {(y, x) for y in range(8) for x in range(8)}

LAST = {(k, c) for k in range(28, 32) for c in range(16)}


def tail(patient: Patient) -> None:
    patient.result[:, :, 36:] = 0


def border(patient: Patient) -> None:
    for edge in (np.s_[..., 0, :], np.s_[..., -1, :], np.s_[..., 0], np.s_[..., -1]):
        patient.result[edge] += 1


def group(patient: Patient) -> None:
    patient.result[1] += 3


def image(patient: Patient) -> None:
    patient.result[:, 2] = patient.poison


def nan(patient: Patient) -> None:
    patient.result[0, 1, :, 3:5, 2] = np.nan


def sub_gemm(patient: Patient) -> None:
    patient.result[..., owners(patient.problem).owner == 3] = 0


def channel_of_weights(patient: Patient) -> None:
    patient.result[:, 28:] += 1


def shifted(patient: Patient) -> None:
    patient.result = np.roll(patient.reference, 1, axis=-1)


@pytest.mark.parametrize(
    ("case", "injure", "words", "caption", "part", "expected"),
    [
        (FWD, tail, "only in the last 4 channels of K = 40", "along k, 40", "zero", {(0, k) for k in range(36, 40)}),
        (FWD, border, "over the border", "g 0 to 1, n 0 to 2", "other", EDGE),
        (FWD, group, "only in group 1 of 2", "g 1, n 0 to 2", "other", ALL),
        (FWD, image, "only in image 2 of 3", "g 0 to 1, n 2", "poison", ALL),
        (FWD, nan, "NaN", "g 0, n 1", "nan", {(3, 2), (4, 2)}),
        (BWD, sub_gemm, "sub-GEMM 3 of 4 is missing", "4 sub-GEMMs", "zero", {(1, 1)}),
        (WEIGHT, channel_of_weights, "only in the last 4 channels of K = 32", "g 0: k 32 down, c 16", "other", LAST),
        (FWD, shifted, "shifted by 1 along w", "g 0", "other", ALL),
    ],
)  # fmt: skip
def test_sentence_and_picture_agree(
    case: str,
    injure: Callable[[Patient], None],
    words: str,
    caption: str,
    part: str,
    expected: set[tuple[int, int]],
) -> None:
    patient = Patient(case)
    injure(patient)
    assert words in diagnose(patient.scene()).sentence
    assert squares(drawing(patient, case, caption), part) == expected


def drawing(patient: Patient, case: str, caption: str) -> str:
    """Return the drawing whose caption begins so."""
    wrong = patient.result.view("u4") != patient.reference.view("u4")
    letters = patient.problem.result_letters
    drawn = picture_of(view_of(patient.result, wrong, patient.poison_bits, letters), case)
    assert drawn is not None
    return next(one.svg for one in parts(drawn) if one.caption.startswith(caption))


def parts(drawn: Picture) -> list:
    return [*drawn.planes, *drawn.lines, *([drawn.sub_gemms] if drawn.sub_gemms else [])]
