"""Other harnesses' command lines: what each means as a case id, the way back, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.model.strategies import problems
from tests.problems import foreign_convolutions

from bitgate.interop import Controls, Variant, controls_of, parse_foreign, problems_of, variant_of
from bitgate.model import ProblemError, case_id, foreign_line, parse_case_id

UNDERSTOOD = {
    # the repro style of CK's own bug reports
    "ckProfiler grouped_conv_bwd_data 1 0 1 1 0 1 2 32 4 192 192 3 3 28 28 1 1 1 1 1 1 1 1 1": (
        "bwd_data_f16_gnhwc_g32n4k192c192_y3x3_h28x28_p1"
    ),
    "./bin/ckProfiler grouped_conv_bwd_data 2 3 1 1 0 0 3 1 2 16 8 3 3 3 5 6 7 2 2 2 1 1 1 1 1 1 0 0 0 2": (
        "bwd_data_bf16_ngcdhw_gkczyx_g1n2k16c8_y3_h5x6x7_s2_p1_q0_sk2"
    ),
    "ckProfiler grouped_conv_fwd 3 1 0 1 1 0 1 1 2 4 8 16 3 14 2 1 1 0": "fwd_i8_nwgc_g2n4k8c16_y3_h14_s2_p1_q0",
    "ckProfiler grouped_conv_bwd_weight 2 2 1 1 0 0 2 1 2 8 8 1 1 7 7 1 1 1 1 0 0 0 0 -1": (
        "bwd_weight_bf16_f32_bf16_nhwgc_g1n2k8c8_y1_h7_skauto"
    ),
    "example_convnd_bwd_data_xdl 0 1 5": "bwd_data_f16_gnhwc_g1n128k256c128_y3_h71_s2_p1",
    "./example_convnd_fwd_xdl_bf16 1 1 0 1 2 3 4 5 3 20 2 1 1 1": "fwd_bf16_gnwc_g2n3k4c5_y3_h20_s2_p1",
    "example_grouped_conv_bwd_weight_xdl_bf16 1 2 1": "bwd_weight_bf16_f32_bf16_gnhwc_g4n1k128c256_y3_h14_p1",
    # as CK's README has it, in the form without G
    "example_convnd_bwd_data_xdl 0 1 5 2 128 256 128 3 3 71 71 2 2 1 1 1 1 1 1": (
        "bwd_data_f16_gnhwc_g1n128k256c128_y3_h71_s2_p1"
    ),
    "example_convnd_bwd_data_xdl_fp16 1 1 0 1 2 3 4 5 20 2 1 1 1": "bwd_data_f16_gnwc_g1n2k3c4_y5_h20_s2_p1",
    "example_grouped_conv_fwd_xdl_fp16": "fwd_f16_nhwgc_g32n2k256c192_y3_h71_s2_p1",
    "example_grouped_conv3d_bwd_data_wmma_v3_bf16": "bwd_data_bf16_ndhwgc_g4n4k128c128_y3_h14x14x14_p1",
    "example_grouped_conv_bwd_data_multiple_d_xdl": "bwd_data_f16_gnhwc_g32n4k192c192_y3_h28_p1",
    "example_grouped_conv_bwd_weight_wavelet_xdl_fp16 1 1 0 1 2 3 8 16 3 20 2 1 1 1 4": (
        "bwd_weight_f16_gnwc_g2n3k8c16_y3_h20_s2_p1_sk4"
    ),
    "2026-01-02 rank 3: it's MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 8 -k 8 -F 1": (
        "fwd_f32_ngchw_gkcyx_g1n1k8c8_y3_h32"
    ),
    "'./bin/MIOpenDriver conv -n 1 -c 8 -k 8 -F 1'": "fwd_f32_ngchw_gkcyx_g1n1k8c8_y3_h32",
    "MIOpenDriver convfp16 -n 4 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -u 3 -v 3 -l 1 -j 1 -g 1 -F 2 -t 1": (
        "bwd_data_f16_ngchw_gkcyx_g1n4k128c64_y3_h28_s3_p1"
    ),
    "MIOPEN_LOG_LEVEL=5 /opt/rocm/bin/MIOpenDriver convbfp16 --batchsize=2 -c 32 -k 64 -g 4 -H 9 -W 8 -I NHWC -O NHWC"
    " -f NHWC -F 1 -y 1 -x 2": "fwd_bf16_nhwgc_g4n2k16c8_y1x2_h9x8",
    "MIOpenDriver conv -_ 3 -n 1 -c 2 -k 4 -! 5 -H 6 -W 7 -@ 1 -y 2 -x 3 -$ 0 -p 1 -q 1 -# 2 -F 4": (
        "bwd_weight_f32_ngcdhw_gkczyx_g1n1k4c2_y1x2x3_h5x6x7_s2x1x1_p0x1x1"
    ),
    'benchdnn --conv --dir=BWD_D --dt=f16 mb4_g2ic64ih28oc128oh10kh3sh3ph1n"layer1"': (
        "bwd_data_f16_nhwgc_g2n4k64c32_y3_h28_s3_p1_q1"
    ),
    "./benchdnn --mode=C --conv --dir=FWD_D --dt=s8 --bia-dt=s8 --stag=abx mb1ic3ih32iw20oc8oh16ow10kh3kw3sh2sw2ph0"
    "pw1": ("fwd_i8_ngchw_gkyxc_g1n1k8c3_y3_h32x20_s2_p0x1_q1x0_bias"),
    "benchdnn --conv --dir=FWD_D ic16iw50oc16ow46kw3dw1pw0": "fwd_f32_nwgc_g1n2k16c16_y3_h50_d2_p0",
    "benchdnn --matmul --dt=f16 --stag=abx --wtag=acb 2x3x4:2x4x5": "gemm_f16_rcr_b2m3n5k4",
    "3x4:4x5": "gemm_f32_rcr_b1m3n5k4",
    "MIOpenDriver convint8 -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -F 1": "fwd_i8_i8_i32_ngchw_gkcyx_g1n1k8c8_y3_h8",
    "MIOpenDriver convint8 -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -b 0 -Z 0 -L 1": (
        "fwd_i8_i8_i32_ngchw_gkcyx_g1n1k8c8_y3_h8"
    ),
}


@pytest.mark.parametrize("line", UNDERSTOOD)
def test_understood(line):
    expected = parse_case_id(
        UNDERSTOOD[line].replace("_gkyxc", "") if "gkyxc" in UNDERSTOOD[line] else UNDERSTOOD[line]
    )
    assert [case_id(problem) for problem in parse_foreign(line)] == [case_id(expected)]


def test_several_passes_are_several_problems():
    line = "MIOpenDriver conv -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -p 1 -q 1"
    assert [str(problem.direction) for problem in foreign_convolutions(line)] == ["fwd", "bwd_data", "bwd_weight"]
    split = "ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 0 1 1 2 8 8 1 7 1 1 0 0 all"
    assert [problem.split_k for problem in foreign_convolutions(split)] == [-1, 1, 2, 4, 8, 16, 32, 64, 128]


@given(problems())
def test_what_is_printed_for_ck_profiler_reads_back(problem):
    line = foreign_line(problem)
    if line is not None:
        assert parse_foreign(line) == (problem,)


EXAMPLES = {"fwd": "convnd_fwd", "bwd_data": "convnd_bwd_data", "bwd_weight": "grouped_conv_bwd_weight"}


@given(problems())
def test_an_example_has_the_sizes_that_its_line_gives(problem):
    """In the form without G, too, where there is one group."""
    fields = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
    spatial = [number for field in fields for number in getattr(problem, field)]
    sizes = (problem.g, problem.n, problem.k, problem.c)
    example = f"example_{EXAMPLES[problem.direction.value]}_xdl_fp16 1 1 0 {problem.ndim}"
    forms = [sizes] + [sizes[1:]] * (problem.g == 1 and problem.direction.value != "bwd_weight")
    for form in forms:
        (read,) = foreign_convolutions(" ".join([example, *map(str, form), *map(str, spatial)]))
        assert (read.g, read.n, read.k, read.c) == sizes
        assert all(getattr(read, field) == getattr(problem, field) for field in (*fields, "direction"))


def test_the_founding_bug_as_ck_profiler_spells_it():
    problem = parse_case_id("bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1")
    assert foreign_line(problem) == (
        "ckProfiler grouped_conv_bwd_data 1 1 1 1 0 0 2 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1 1"
    )


@pytest.mark.parametrize(
    "case",
    [
        "bwd_data_f64_nhwgc_g1n1k8c8_y1_h4",
        "bwd_data_f16_nhwgc_gkcyx_g1n1k8c8_y1_h4",
        "bwd_data_f16_nhwgc_g1n1k8c8_y1_h4_bilinear",
        "bwd_data_f16_nhwgc_g1n1k8c8_y1_h4_gap",
        "fwd_f16_nhwgc_g1n1k8c8_y1_h4_sk2",
    ],
)
def test_what_ck_profiler_cannot_say(case):
    assert foreign_line(parse_case_id(case)) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "make me a conv",
            "'make me a conv' is neither a case id nor a command line of example, ckProfiler, MIOpenDriver",
        ),
        (
            "ckProfiler softmax 0 1 1 0 1 3 2 1",
            "'softmax' is not understood: grouped_conv_fwd, grouped_conv_bwd_data",
        ),
        ("ckProfiler grouped_conv_bwd_data 9 0 1 1 0 1 2", "data type 9 is not understood: 0 (f32), 1 (f16), 2 (bf16)"),
        ("ckProfiler grouped_conv_bwd_weight 1 0 1 1 0 1 2 1", "layout 0 is not understood"),
        ("ckProfiler grouped_conv_bwd_data 1 0 1 1 0 1 2 32 4 192", "4 problem parameters: 2D takes 17"),
        ("ckProfiler grouped_conv_bwd_data 1 0 1 1 0 1 2 a 4 1 1 1 1 1 1 1 1 1 1 0 0 0 0", "is 'a', not a number"),
        ("ckProfiler grouped_conv_bwd_data 1 0 1 1 0 1 1 1 4 8 8 9 4 1 1 0 0 1", "the dilated filter covers 9 cells"),
        ("MIOpenDriver pool -n 1", "'pool' is not understood: conv, convfp16"),
        ("MIOpenDriver conv -n 1 -B 2", "option '-B' is not understood"),
        ("MIOpenDriver conv -c 9 -g 2", "--in_channels 9 does not divide into 2 groups"),
        ("MIOpenDriver conv -m trans", "transposed convolutions"),
        ("MIOpenDriver convint8 -c 8 -F 2", "--forw 2: MIOpen has int8 forward only, that is 1"),
        (
            "MIOpenDriver conv -I NCHWc4 -O NCHWc4 -f NCHWc4",
            "vectorised layouts (--in_layout NCHWc4) are not understood",
        ),
        ("MIOpenDriver convint8 -Z 1 -L 4", "--tensor_vect 1: vectorised layouts are not understood"),
        ("MIOpenDriver conv -L 4", "--vector_length 4: vectorised layouts are not understood"),
        ("MIOpenDriver conv -b 1", "--bias 1: a bias is not understood"),
        ("MIOpenDriver conv -r 2", "--pad_val 2: pads other than zeros are not understood"),
        ("MIOpenDriver conv -n 1_0", "--batchsize is '1_0', not a number"),
        ("benchdnn --ip 3x4:4x5", "only benchdnn --conv and --matmul are understood"),
        ("example_gemm_xdl_fp16 1 1 1", "example 'example_gemm_xdl_fp16' is not understood"),
        ("example_convnd_bwd_datax 1 1 1", "example 'example_convnd_bwd_datax' is not understood"),
        ("example_convnd_bwd_data_xdl_int4", "'int4' is not understood after convnd_bwd_data: fp64, fp32, fp16"),
        ("example_grouped_conv_fwd_bias_relu_add_xdl_fp16", "'bias' is not understood after grouped_conv_fwd"),
        ("example_convnd_fwd_xdl_wavelet", "'wavelet' is not understood after convnd_fwd"),
        ("example_convnd_bwd_data_xdl_fp32_tf32 1 1 1", "its compute types are not understood"),
        ("example_convnd_bwd_data 1 1 1 2 1 128 256 128 3 3", "7 problem parameters: 2D takes 17"),
        ("example_convnd_bwd_data 1 1 1 2 1 128 256 128 3 3", "right pads), or 16 without G"),
        ("example_grouped_conv_fwd 1 1 1 2 1 128 256 3 3 71 71 2 2 1 1 1 1 1 1", "16 problem parameters: 2D takes 17"),
        ("example_convnd_bwd_data 1 1 1 4 1 1 1 1", "the number of spatial dimensions is 4: 1 to 3 are possible"),
        ('ckProfiler "unclosed', "No closing quotation"),
    ],
)
def test_refused(line, message):
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_foreign(line)


def test_a_case_id_is_one_problem():
    assert problems_of("fwd_f32_n1k8c8_y3_h5") == (parse_case_id("fwd_f32_n1k8c8_y3_h5"),)


@pytest.mark.parametrize(
    ("line", "variant"),
    [
        ("example_convnd_bwd_data_xdl 0 1 5", Variant("convnd_bwd_data", lanes=64)),
        ("./bin/example_grouped_conv_bwd_weight_wavelet_xdl_bf16", Variant("grouped_conv_bwd_weight", 64, "wavelet")),
        ("example_grouped_conv_bwd_data_multiple_d_wmma_v3_bf16", Variant("grouped_conv_bwd_data", 32, "", ("v3",))),
        ("example_grouped_conv_fwd 1 2 1", Variant("grouped_conv_fwd")),
        ("ckProfiler grouped_conv_fwd 3 1 0 0 2 1 0 1 2 4 8 16 3 14 2 1 1 0", None),
    ],
)
def test_the_instances_that_an_example_asks_for_by_its_name(line, variant):
    assert variant_of(line) == variant


CONTROLLED = {
    "ckProfiler grouped_conv_bwd_data 1 0 2 1 0 1 2 32 4 192 192 3 3 28 28 1 1 1 1 1 1 1 1 1": Controls(2, 1, 1),
    "ckProfiler grouped_conv_fwd 3 1 0 0 2 1 0 1 2 4 8 16 3 14 2 1 1 0": Controls(0, 2, 0, log=1),
    "ckProfiler grouped_conv_bwd_weight 2 2 1 1 0 0 2 1 2 8 8 1 1 7 7 1 1 1 1 0 0 0 0 -1": Controls(1, 1, 0),
    "example_convnd_bwd_data_xdl 0 1 5": Controls(0, 1, 5),
    "example_convnd_bwd_data_xdl": Controls(1, 1, 0),
    "example_grouped_conv_fwd_xdl_fp16": Controls(1, 1, 1),
    "MIOpenDriver conv -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -p 1 -q 1": None,
}


@pytest.mark.parametrize("line", CONTROLLED)
def test_how_a_line_wants_to_be_run(line):
    assert controls_of(line) == CONTROLLED[line]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("ckProfiler grouped_conv_bwd_data 1 0 5 1 0 1 1 1 1 8 8 3 28 1 1 1 1 1", "the verification is 5"),
        ("example_convnd_bwd_data_xdl 1 9 0", "the init method is 9"),
        ("example_convnd_bwd_data_xdl 1 1 -5", "the time switch is -5: 0 (no), 1 (yes) or a number of runs"),
        ("example_convnd_bwd_data_xdl 1 1", "2 arguments: give verify, init and time, or none of them"),
    ],
)
def test_controls_that_are_not_understood(line, text):
    with pytest.raises(ProblemError, match=re.escape(text)):
        controls_of(line)
