"""A dispatch record is held to the maths: what a library says it ran must be what the problem needs, part by part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.verify.launched_parts import parts_of

from bitgate.kernel.dispatch import DispatchRecord
from bitgate.model import parse_case_id
from bitgate.ops.convolution import sub_gemms
from bitgate.ops.convolution.launches import SubGemmRecord
from bitgate.verify.decide import dispatch_disagreement

PROBLEM = parse_case_id("bwd_data_f16_nhwgc_g1n2k16c8_y5x13_h15x39_s5x13_p2x3")  # 65 sub-GEMMs in three buckets
BLOCKS = 4


def _gemms() -> tuple[SubGemmRecord, ...]:
    return tuple(
        SubGemmRecord(
            index=gemm.index,
            bucket=gemm.bucket,
            launched=True,
            main_loop=False,
            tilde=gemm.tilde,
            taps=gemm.taps,
            slice_begin=tuple(axis.begin for axis in gemm.axes),
            slice_length=tuple(axis.length for axis in gemm.axes),
            m=gemm.m,
            n=gemm.n,
            k=gemm.k,
            first_block=gemm.index % 32 * BLOCKS,
            blocks=BLOCKS,
        )
        for gemm in sub_gemms(PROBLEM)
    )


def _record(gemms: tuple[SubGemmRecord, ...]) -> DispatchRecord:
    facts = {"gemms_count": len(gemms), "buckets": 3}
    return DispatchRecord("grouped", 3, True, 0, "t64", facts, **parts_of(gemms), events=())


def _said(record: DispatchRecord) -> str:
    return dispatch_disagreement(PROBLEM, record, None, decomposes=True)


def _with(change: Callable[[SubGemmRecord], SubGemmRecord]) -> DispatchRecord:
    return _record(tuple(change(gemm) for gemm in _gemms()))


def test_a_true_record_passes() -> None:
    assert _said(_record(_gemms())) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda gemm: replace(gemm, tilde=gemm.tilde[::-1]), "tilde (1, 0), the problem needs (0, 1)"),
        (lambda gemm: replace(gemm, taps=(2, 2)), "taps (2, 2), the problem needs (1, 1)"),
        (lambda gemm: replace(gemm, k=gemm.k + 1), "K 17, the problem needs 16"),
        (lambda gemm: replace(gemm, m=gemm.m + 1), "M "),
        (lambda gemm: replace(gemm, slice_begin=(1, 0)), "slice begin (1, 0), the problem needs (0, 0)"),
        (lambda gemm: replace(gemm, slice_length=(4, 3)), "slice length (4, 3), the problem needs (4, 4)"),
        (lambda gemm: replace(gemm, launched=gemm.index != 40), "sub-GEMM 40 was not launched"),
        (lambda gemm: replace(gemm, bucket=0), "buckets is 3, the sub-GEMMs stand in 1"),
        (lambda gemm: replace(gemm, first_block=0), "sub-GEMMs 0 and 1 share blocks of one launch"),
        (lambda gemm: replace(gemm, blocks=BLOCKS + 1), "sub-GEMMs 0 and 1 share blocks of one launch"),
    ],
)
def test_a_record_that_lies_is_reported_where(change: Callable[[SubGemmRecord], SubGemmRecord], said: str) -> None:
    assert said in _said(_with(change))


def test_slices_may_be_left_out() -> None:
    assert _said(_with(lambda gemm: replace(gemm, slice_begin=(0, 0), slice_length=(0, 0)))) == ""


def test_one_sub_gemm_may_run_as_a_plain_convolution() -> None:
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n2k16c8_y3x3_h8x8_p1x1")
    (gemm,) = sub_gemms(problem)
    plain = replace(_gemms()[0], m=7, taps=(1, 1), n=gemm.n, k=gemm.k)
    record = replace(_record((plain,)), launches=1, facts={"gemms_count": 1, "buckets": 1})
    assert dispatch_disagreement(problem, record, None, decomposes=True) == ""
