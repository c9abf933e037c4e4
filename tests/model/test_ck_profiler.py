"""What ckProfiler's numbers mean to ckProfiler, and which lines it has no instance for."""

from __future__ import annotations

import re

import pytest
from tests.problems import foreign_convolutions

from bitgate.interop import parse_foreign, perf_of, problems_of
from bitgate.interop.found import Understood
from bitgate.model import ProblemError, case_id, foreign_line, parse_case_id

SIZES = "1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1"
CASE = "g1n4k128c64_y3_h28_s3_p1"


def read(line: str) -> list[str]:
    return [case_id(problem) for problem in parse_foreign(line)]


def same(*cases: str) -> list[str]:
    return [case_id(parse_case_id(case)) for case in cases]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("1", [1]), ("4", [4]), ("0", [1, 2, 4, 8, 16, 32, 64, 128]), ("-1", [1, 2, 4, 8, 16, 32, 64, 128])],
)
def test_the_split_k_of_backward_data(word, meant):
    """Its profiler tries all of a list unless given a positive one."""
    line = f"ckProfiler grouped_conv_bwd_data 1 1 1 1 0 1 2 {SIZES} {word}"
    assert [problem.split_k for problem in foreign_convolutions(line)] == meant


@pytest.mark.parametrize(
    ("word", "meant"), [("2", [2]), ("-1", [-1]), ("-7", [-1]), ("all", [-1, 1, 2, 4, 8, 16, 32, 64, 128])]
)
def test_the_split_k_of_backward_weight(word, meant):
    """Below zero the kernel chooses one by itself."""
    line = f"ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 1 2 {SIZES} {word}"
    assert [problem.split_k for problem in foreign_convolutions(line)] == meant


@pytest.mark.parametrize(
    ("line", "case"),
    [
        (f"ckProfiler conv_fwd 1 1 1 1 0 1 2 {SIZES}", f"fwd_f16_nhwgc_{CASE}"),
        (f"ckProfiler conv_fwd 3 1 1 1 0 1 2 {SIZES}", f"fwd_i8_nhwgc_{CASE}"),
        (f"ckProfiler conv_bwd_data 2 1 1 1 0 1 2 {SIZES}", f"bwd_data_bf16_nhwgc_{CASE}"),
        (f"ckProfiler grouped_conv_fwd_tile 1 1 0 1 1 0 1 2 {SIZES} --instance 4", f"fwd_f16_nhwgc_{CASE}"),
        (f"ckProfiler grouped_conv_bwd_data_tile 2 1 1 1 0 1 2 {SIZES} 2", f"bwd_data_bf16_nhwgc_{CASE}_sk2"),
        (f"ckProfiler grouped_conv_bwd_weight_tile 5 2 1 1 0 1 2 {SIZES} 1", f"bwd_weight_bf16_nhwgc_{CASE}"),
        (f"ckProfiler grouped_conv_fwd 1 1 1 1 1 0 1 2 {SIZES}", f"fwd_f16_nhwgc_{CASE}"),
    ],
)
def test_operations_beside_the_grouped_ones(line, case):
    """The ungrouped ones with a G of 1, CK Tile's, and 64 bits to count by."""
    assert read(line) == same(case)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (f"grouped_conv_bwd_data 1 1 1 1 0 1 2 {SIZES} all", "split-K is 'all', not a number"),
        (f"grouped_conv_bwd_data_tile 1 1 1 1 0 1 2 {SIZES} 0", "split-K is 0: a positive one is understood"),
        (f"grouped_conv_bwd_weight 6 2 1 1 0 1 2 {SIZES} 1", "data type 6 is f32 multiplied as tf32: not understood"),
        (f"grouped_conv_fwd 8 1 0 1 1 0 1 2 {SIZES}", "data type 8 is f32 multiplied as tf32: not understood"),
        (f"grouped_conv_bwd_data 3 1 1 1 0 1 2 {SIZES} 1", "data type 3 is f32 multiplied as tf32: not understood"),
        (f"grouped_conv_fwd 1 1 2 1 1 0 1 2 {SIZES}", "the index type is 2: 0 (32 bits), 1 (64 bits) are understood"),
        (f"grouped_conv_fwd 1 1 x 1 1 0 1 2 {SIZES}", "the index type is 'x', not a number"),
        (f"grouped_conv_fwd 1 1 0 1 1 0 1 2 {SIZES} --list-instances", "option '--list-instances' is not understood"),
        ("grouped_conv_fwd 1 1 0 1 1 0 1 -2 1 1", "the number of spatial dimensions is -2: 1 to 3 are possible"),
        (f"grouped_conv_fwd 1 1 0 1 1 0 1 2 {SIZES} 1", "words left over: 1"),
        ("conv_fwd 1 1 1 1 0 1 1 2 1 8 8 3 9 1 1 1 1", "conv_fwd has no groups: G is 2, grouped_conv_fwd takes it"),
        ("conv_fwd 1 0 1 1 0 1 1 1 8 8 3 9 1 1 1 1", "conv_fwd layout 0 is not understood: 1 (nhwgc/gkyxc) are"),
    ],
)
def test_refused(words, reason):
    with pytest.raises(ProblemError, match=re.escape(reason)):
        parse_foreign(f"ckProfiler {words}")


WHOLE = (
    f"grouped_conv_fwd 1 1 0 1 1 0 1 2 {SIZES}",
    f"grouped_conv_bwd_data 1 1 1 1 0 1 2 {SIZES} 1",
    f"grouped_conv_bwd_weight_tile 1 2 1 1 0 1 2 {SIZES} 1",
    f"conv_fwd 1 1 1 1 0 1 2 {SIZES}",
    f"conv_bwd_data 1 1 1 1 0 1 2 {SIZES}",
    "gemm 1 1 1 1 0 1 4 5 6 6 6 5",
    "gemm_splitk 1 1 1 1 0 1 4 5 6 6 6 5 2",
    "batched_gemm 1 1 1 1 0 1 4 5 6 6 6 5 -1 -1 -1 2",
)


@pytest.mark.parametrize("line", WHOLE, ids=lambda line: line.split()[0])
def test_a_line_with_one_word_too_few_is_refused(line):
    """Whichever word is missing: the others would be another problem's."""
    name, *words = line.split()
    assert read(f"ckProfiler {line}")
    for at in range(len(words)):
        with pytest.raises(ProblemError):
            parse_foreign(" ".join(["ckProfiler", name, *words[:at], *words[at + 1 :]]))


@pytest.mark.parametrize(
    ("case", "line"),
    [
        # today's ckProfiler prints its help for backward data without a split-K
        (f"bwd_data_f32_gnhwc_{CASE}", f"ckProfiler grouped_conv_bwd_data 0 0 1 1 0 0 2 {SIZES} 1"),
        (f"bwd_data_f16_nhwgc_{CASE}_sk4", f"ckProfiler grouped_conv_bwd_data 1 1 1 1 0 0 2 {SIZES} 4"),
        (f"bwd_weight_f16_nhwgc_{CASE}_skauto", f"ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 0 2 {SIZES} -1"),
        (f"fwd_f16_nhwgc_{CASE}", f"ckProfiler grouped_conv_fwd 1 1 0 1 1 0 0 2 {SIZES}"),
        # what it says it has not implemented
        ("bwd_data_f16_nwgc_g1n2k8c8_y1_h4", None),
        ("bwd_data_f16_ngcdhw_gkczyx_g1n2k8c8_y1_h4x4x4", None),
        ("fwd_f16_ngcw_g1n2k8c8_y1_h4", None),
        ("fwd_f8fnuz_nhwgc_g1n2k8c8_y1_h4x4", None),
        ("fwd_f8fnuz_ndhwgc_g1n2k8c8_y1_h4x4x4", "ckProfiler grouped_conv_fwd 4 1 0 1 1 0 0 3 1 2 8 8 1 1 1 4 4 4"),
        ("bwd_weight_bf16_gnhwc_g1n2k8c8_y1_h4x4", None),
        ("bwd_weight_f16_ctf8fnuz_ndhwgc_g1n2k8c8_y1_h4x4x4", None),
        (
            "bwd_weight_f16_ctinf8fnuz_ctoutbf8fnuz_ndhwgc_g1n2k8c8_y1_h4x4x4",
            "ckProfiler grouped_conv_bwd_weight 3 2 1 1 0 0 3 1 2 8 8 1 1 1 4 4 4",
        ),
        ("bwd_weight_f16_ctinf8fnuz_ctoutbf8fnuz_nhwgc_g1n2k8c8_y1_h4x4", None),
        ("fwd_f16_ctinf8fnuz_nhwgc_g1n2k8c8_y1_h4x4", None),
        # -1 would have it try all
        (f"bwd_data_f16_nhwgc_{CASE}_skauto", None),
    ],
)
def test_a_line_is_printed_that_ck_profiler_runs(case, line):
    printed = foreign_line(parse_case_id(case))
    assert printed is None if line is None else printed is not None and printed.startswith(line)


def test_that_an_instance_is_chosen_is_told():
    line = f"ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 2 {SIZES} --instance 3"
    (problem,) = problems_of(line)
    assert perf_of(Understood("", problem, line)).notes == (
        "an instance is chosen by its number in CK's list: here all are timed",
    )
