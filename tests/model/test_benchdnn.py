"""benchdnn's descriptors against a second statement of its rules, its options, and its batch files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.model.benchdnn_rules import drawn, stated

from bitgate.interop import Refused, Understood, found_in_list, in_words, problems_of, reasons
from bitgate.model import ProblemError, case_id
from bitgate.ops.convolution import ConvProblem

DRAWN = 10_000


def read(line: str) -> list[str]:
    return [case_id(problem) for problem in problems_of(line)]


def _told(problem: ConvProblem) -> tuple[object, ...]:
    pads = zip(problem.left_pad, problem.right_pad, strict=True)
    spatial = zip(problem.input, problem.output, problem.filter, problem.stride, problem.dilation, pads, strict=True)
    return (problem.g, problem.n, problem.c, problem.k, tuple((*axis[:5], *axis[5]) for axis in spatial))


def test_10000_descriptors_read_as_by_a_second_implementation() -> None:
    different = []
    understood = 0
    for seed in range(DRAWN):
        text, numbers = drawn(seed)
        expected = stated(numbers)
        try:
            (problem,) = problems_of(f"benchdnn --conv --dir=FWD_D '{text}'")
            assert isinstance(problem, ConvProblem)
            found = _told(problem)
        except ProblemError:
            found = None
        wanted = None
        if expected is not None:
            axes = tuple((a.input, a.output, a.filter, a.stride, a.dilation, a.left, a.right) for a in expected.axes)
            wanted = (expected.groups, expected.images, *expected.channels, axes)
            understood += 1
        if found != wanted:
            different.append((text, wanted, found))
    assert different == []
    assert DRAWN * 0.3 < understood < DRAWN * 0.9, "one kind of descriptor is hardly drawn"


READ = {
    # an axis that is there borrows no letter: s and p of h stay with h
    "mb1_g16ic16oc16_ih15oh7kh6sh2ph3_iw10ow10kw3": "fwd_f32_nhwgc_g16n1k1c1_y6x3_h15x10_s2x1_d1x1_p3x1_q0x1_bias",
    "--dir=BWD_D ic8oc8ih8kh3": "bwd_data_f32_nhwgc_g1n2k8c8_y3_h8",
    "ic8oc8id8kd3": "fwd_f32_ndhwgc_g1n2k8c8_y3_h8x8x8_bias",
    # more right pad than the output asks for: one column that no window reaches
    "--dir=FWD_I ic8oc8iw8ow3kw3sw2pw0": "fwd_f32_nwgc_g1n2k8c8_y3_h8_s2_p0_q0",
    "--dir=FWD_D --cfg=s8s8s32 ic8oc8iw8kw1": "fwd_i8_i8_i32_nwgc_g1n2k8c8_y1_h8",
    "--dir=FWD_D --dt=f8_e4m3 ic8oc8iw8kw1": "fwd_f8ocp_nwgc_g1n2k8c8_y1_h8",
    "--dir=FWD_D --dtag=abx ic8oc8iw8kw1": "fwd_f32_ngcw_g1n2k8c8_y1_h8",
    "--dir=FWD_D --stag=axb --wtag=oihw ic8oc8ih8kh1": "fwd_f32_nhwgc_gkcyx_g1n2k8c8_y1_h8",
    "--dir=FWD_D --wtag=abdec g2ic8oc8ih8kh1": "fwd_f32_nhwgc_g2n2k4c4_y1_h8",
    "--dir=FWD_D --mb=3 mb1ic8oc8iw8kw1n*": "fwd_f32_nwgc_g1n3k8c8_y1_h8",
    "--dir=BWD_W --reset ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8_bias",
    "--attr-scratchpad=user --attr-post-ops= --dir=FWD_D ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8",
    "--dir=FWD_D --attr-post-ops=sum ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8_inplace_a1_b1",
    "--dir=FWD_I --attr_post_ops=sum:0.5:0 --dt=f16 ic8oc8iw8kw1": "fwd_f16_nwgc_g1n2k8c8_y1_h8_inplace_a1_b0p5",
    "--dir=FWD_D --dt=s8 --attr-post-ops=sum:-1::s8 ic8oc8iw8kw1": "fwd_i8_nwgc_g1n2k8c8_y1_h8_inplace_a1_bm1",
    "--dir=FWD_D --attr-post-ops=relu ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8_relu",
    "--matmul --attr-post-ops=sum:2 3x4:4x5": "gemm_f32_rcr_b1m3n5k4_inplace_a1_b2",
    "3x4:4x5": "gemm_f32_rcr_b1m3n5k4",
    "--matmul --dt=bf16 --stag=abx --wtag=abx 2x3x8x4:2x3x4x5n3d_unet": "gemm_bf16_rrr_b6m8n5k4",
    "--matmul --dt=s8:s8:s32 --stag=ba 3x4:4x5:3x5": "gemm_i8_i8_i32_crr_b1m3n5k4",
    "--dt=f64 ic8oc8iw8kw1": "fwd_f64_nwgc_g1n2k8c8_y1_h8_bias",
    "--dt=bf16:bf16:f32 ic8oc8iw8kw1": "fwd_bf16_bf16_f32_nwgc_g1n2k8c8_y1_h8_bias",
    "--dir=FWD_I --dt=f16 --bia-dt=f16 ic8oc8iw8kw1": "fwd_f16_nwgc_g1n2k8c8_y1_h8_bias",
    "--matmul --stag=aby --wtag=aby 3x4:4x5": "gemm_f32_ccr_b1m3n5k4",
    "--matmul --stag=abx --wtag=aby 2x3x4:2x4x5": "gemm_f32_rcr_b2m3n5k4",
    "--matmul --dt=f16 --bia-dt=f16 3x4:4x5": "gemm_f16_rcr_b1m3n5k4_bias",
    "--matmul --bia-dt=f32 --bia_mask=4 1x3x4:1x4x5_n": "gemm_f32_rcr_b1m3n5k4_bias",
    # the bias of FWD_B is f32, or f64 where the weights are, whatever --bia-dt says; here it has the result's type
    "--dt=f16 ic8oc8iw8kw1": "fwd_f16_nwgc_g1n2k8c8_y1_h8_bias",
    "--dt=s8:s8:s32 ic8oc8iw8kw1": "fwd_i8_i8_i32_nwgc_g1n2k8c8_y1_h8_bias",
    "--bia-dt=f16 ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8_bias",
    "--dt= --dir=BWD_D --dir= ic8oc8iw8kw1": "fwd_f32_nwgc_g1n2k8c8_y1_h8_bias",
}


@pytest.mark.parametrize("line", READ)
def test_read(line: str) -> None:
    (expected,) = read(READ[line])
    assert read(line) == [expected]


def test_several_values_are_a_problem_each() -> None:
    line = "benchdnn --conv --dir=FWD_D,BWD_W --dt=f32,f16 --mb=1,2 ic8oc8ih8kh3 ic8oc8ih9kh3"
    assert len(read(line)) == len(set(read(line))) == 16


REFUSED = {
    "ic8oc8ih8": "kh is missing or 0",
    "ic8oc8kh3": "ih is missing or 0",
    "ic8oc8id8kd3ih8kh3": "axes d and h are given, w is not",
    "ic8oc8": "no axis is given",
    "ic8oc8ih8kh3ph-1": "ph-1 is negative",
    "ic8oc8ih8oh3kh1sh1": "axis h: the left pad that follows is -2",
    "ic8oc8ih8oh3kh1sh1ph0": "axis h: the right pad that follows is -5: oh leaves outputs out",
    "ic1_6oc8ih8kh3": "'6oc8ih8kh3' is not understood",
    "ic8oc8ih8kh3zz3": "'zz3' is not understood",
    f"ic8oc8ih{'9' * 5000}kh3": "is no size: a number has at most",
    "--dir=BWD_DW ic8oc8ih8kh3": "--dir=BWD_DW is not understood: FWD_D",
    "--dir=BWD_WB --stag=abx ic8oc8ih8kh3": "the gradient of the bias (--dir=BWD_WB) is not understood",
    "--cfg=u8s8s32 ic8oc8ih8kh3": "types 'u8s8s32'",
    "--dt=f32:f32 ic8oc8ih8kh3": "types 'f32:f32'",
    "--stag=aBx16b ic8oc8ih8kh3": "--stag=aBx16b is not understood",
    "--stag=ncw ic8oc8ih8kh3": "--stag=ncw is not understood: any, axb, abx, abcd",
    "--wtag=hwio ic8oc8ih8kh3": "--wtag=hwio is not understood",
    "--wtag=axb g1ic8oc8ih8kh3": "--wtag=axb is not understood: any, abcde, abdec, gohwi, goihw",
    "--stag=abx --dtag=axb ic8oc8ih8kh3": "images in two layouts",
    "--attr-post-ops=sum ic8oc8ih8kh3": "one thing after the sums, and that is the bias",
    "--dir=FWD_D --attr-post-ops=sum:0.5+relu ic8oc8ih8kh3": "one thing after the sums, not a chain",
    "--dir=BWD_D --attr-post-ops=sum ic8oc8ih8kh3": "a backward pass has none",
    "--dir=FWD_D --attr-post-ops=sum:x ic8oc8ih8kh3": "'x' is not a number",
    "--dir=FWD_D --attr-post-ops=sum:1e-30 ic8oc8ih8kh3": "beta = 1e-30: write at most",
    "--dir=FWD_D --attr-post-ops=sum:inf ic8oc8ih8kh3": "write at most",
    "--dir=FWD_D --attr-post-ops=sum:1:3 ic8oc8ih8kh3": "without a zero point",
    "--dir=FWD_D --attr-post-ops=sum:1:0:s8 ic8oc8ih8kh3": "the old result is in the result's buffer and type",
    "--dir=FWD_D --attr-post-ops=relu:0.1 ic8oc8ih8kh3": "sum[:SCALE] and relu are understood",
    "--matmul --bia-dt=f32 --attr-post-ops=sum 3x4:4x5": "one thing after the sums, and that is the bias",
    "--attr-zero-points=src:common:1 ic8oc8ih8kh3": "option '--attr-zero-points=src:common:1' is not understood",
    "--match=resnet ic8oc8ih8kh3": "no problem descriptor",
    "--match=\\(a\\) ic8oc8ih8kh3": "--match=\\(a\\): '\\(a\\)' is not understood: letters",
    "--ip ic8oc8ih8kh3": "option '--ip'",
    "--mb=x ic8oc8ih8kh3": "--mb=x is not a number",
    "--dir=FWD_D --bia-dt=f32 --dt=f16 ic8oc8ih8kh3": "--bia-dt=f32: a bias has the result's type here, f16",
    "--dir=BWD_W --bia-dt=f32 ic8oc8ih8kh3": "--bia-dt=f32: --dir=BWD_W with a bias is not understood",
    "--dt=f32": "no problem descriptor",
    "3x4:5x6": "the sources have 4 columns, the weights 5 rows",
    "2x3x4:1x4x5": "batches 2 and 1: broadcasting is not understood",
    "3x4:4x5:9x9": "the result is 3x5, not 9x9",
    "--matmul m3n4k5": "is no [batch x ..]MxK:[batch x ..]KxN",
    "--matmul --dtag=ba 3x4:4x5": "no layout of A, B and C is like that",
    "--matmul --stag=AB16b 3x4:4x5": "--stag=AB16b is not understood: any, ab, ba are",
    f"--mb={','.join(map(str, range(20_001)))} ic8oc8ih8kh3": "20001 combinations of options: 20000 at most",
    "--matmul --bia-dt=f32 1x3x4:1x4x5": "a bias is understood with mask 4",
}


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:60])
def test_refused_in_one_line(line: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(REFUSED[line])) as refused:
        problems_of(line)
    assert "\n" not in str(refused.value)


def files(folder: Path, **contents: str) -> Path:
    for name, text in contents.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_options_hold_into_and_out_of_a_batch_file(tmp_path: Path) -> None:
    files(
        tmp_path,
        all="--dir=BWD_D --batch=sub/shapes ic8oc8ih5kh1\n--reset --dir=FWD_D\nic8oc8ih6kh1n3d # a name, a comment\n",
        sub__shapes='# shapes\nic8oc8ih3kh1n"a # b" --dt=f16 --batch=more\n',
        sub__more="ic8oc8ih4kh1n*\n",
    )
    found = list(found_in_list(tmp_path / "all"))
    assert [case_id(entry.problem) for entry in found if isinstance(entry, Understood)] == [
        case for line in ("bwd_data_f32_ih3", "bwd_data_f16_ih4", "bwd_data_f16_ih5", "fwd_f32_ih6")
        for case in read(f"{line.partition('_ih')[0]}_nhwgc_g1n2k8c8_y1_h{line[-1]}")
    ]  # fmt: skip
    assert [entry.where for entry in found] == [
        f"{tmp_path}/sub/shapes:2", f"{tmp_path}/sub/more:1", "line 1", "line 3"
    ]  # fmt: skip
    assert read(f"benchdnn --conv --batch={tmp_path}/all") == [case_id(e.problem) for e in found]  # type: ignore[union-attr]


def test_batch_files_in_a_circle_and_in_a_fan_come_to_an_end(tmp_path: Path) -> None:
    fan = {f"f{level}": f"--batch=f{level + 1} --batch=f{level + 1}\n" for level in range(20)}
    files(tmp_path, a="--batch=b\nic8oc8ih5kh1\n", b="--batch=./a\n", c="--batch=c", f20="", **fan)
    reported = [entry.reason for entry in found_in_list(tmp_path / "a") if isinstance(entry, Refused)]
    assert len(reported) == 1
    assert "is being read already" in reported[0]
    assert "is being read already" in next(e.reason for e in found_in_list(tmp_path / "c") if isinstance(e, Refused))
    assert "at most 1000 batch files" in next(
        e.reason for e in found_in_list(tmp_path / "f0") if isinstance(e, Refused)
    )


def test_an_option_refuses_what_it_holds_for_and_no_more(tmp_path: Path) -> None:
    text = "ic8oc8ih3kh1\n--dt=u8:s8:s8\nic8oc8ih4kh1\nic8oc8ih5kh1\n--dt=f32,u8:s8:s8\nic8oc8ih6kh1\n--batch=gone\n"
    found = list(found_in_list(files(tmp_path, list=text) / "list"))
    assert [entry.where for entry in found if isinstance(entry, Understood)] == ["line 1", "line 6"]
    refused = [entry for entry in found if isinstance(entry, Refused)]
    assert [(reason.count, reason.first) for reason in reasons(refused)] == [(3, "line 3"), (1, "line 7")]
    reported = in_words(refused, 2)
    assert reported[0] == "refused: 4 of 6, not looked at"
    assert reported[1].startswith("  3 x types 'u8:s8:s8'")


def test_a_batch_file_that_can_have_no_such_name_is_one_line() -> None:
    with pytest.raises(ProblemError, match="no file can have this name"):
        problems_of("--batch=/tmp/\ud800")


def test_a_command_line_over_several_lines_is_refused_in_one() -> None:
    with pytest.raises(ProblemError, match="types 'f99'") as refused:
        problems_of("benchdnn --conv\n  --dt=f99\n  ic8oc8ih3kh1")
    assert "\n" not in str(refused.value)
