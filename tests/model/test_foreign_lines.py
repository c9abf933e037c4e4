"""Command lines as people, scripts, logs and editors leave them: around the line, and in lists of them."""

from __future__ import annotations

import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.interop import (
    Refused,
    Understood,
    found_in_case,
    found_in_list,
    is_foreign,
    parse_foreign,
    perf_of,
    problems_of,
    reasons,
)
from bitgate.model import ProblemError, case_id, foreign_line, parse_case_id

LINE = "ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 1 1 2 8 8 3 9 1 1 0 0"
DRIVEN = "MIOpenDriver convfp16 -n 2 -c 8 -k 8 -H 9 -W 9 -F 1 -t 1"
CASE = case_id(parse_case_id("fwd_f16_nwgc_g1n2k8c8_y3_h9"))
DRIVEN_CASE = case_id(parse_case_id("fwd_f16_ngchw_gkcyx_g1n2k8c8_y3_h9"))


@pytest.mark.parametrize(
    "text",
    [
        f"./bin/{LINE} > out.log",
        f"{LINE} >> out.log 2>&1",
        f"{LINE} 2>/dev/null",
        f"{LINE} 2>&1 | tee out.log",
        f"{LINE} &> out.log",
        f"{LINE};",
        f"{LINE} ; echo done",
        f"{LINE} && echo done || exit 1",
        f"{LINE} &",
        f"{LINE}  # it's the slow one",
        f"{LINE[:40]} \\\n   {LINE[40:]}",
        f"- `{LINE}`",
        f"* {LINE}",
        f"+ timeout 60 ./{LINE}",
        f"HIP_VISIBLE_DEVICES=3 CK_LOGGING=1 ./bin/{LINE}",
        f"ckProfiler.log:12: ./bin/{LINE}",
        f"cd /src/ckProfiler && HOME=/src/MIOpenDriver ./bin/{LINE}",
        f"C:\\ck\\build\\bin\\{LINE.replace('ckProfiler', 'ckProfiler.exe')}",
        f"'{LINE}'",
    ],
)
def test_what_stands_around_a_line(text):
    assert is_foreign(text)
    assert [case_id(problem) for problem in parse_foreign(text)] == [CASE]


@pytest.mark.parametrize("between", ["&&", ";", "||", "&", "\n", "# a comment ends with its line\n"])
def test_two_commands_in_a_line_are_refused(between):
    with pytest.raises(ProblemError, match=r"several commands: give each a separate line|words left over: \./MIOpen"):
        parse_foreign(f"{LINE} {between} ./{DRIVEN}")


def test_a_text_of_benchdnn_over_several_lines_is_read_whole():
    first, second = "mb2ic8iw9oc8ow7kw3", "mb3ic8iw9oc8ow7kw3"
    both = [case_id(problem) for line in (first, second) for problem in parse_foreign(line)]
    assert [case_id(problem) for problem in parse_foreign(f"\n{first} # one\n{second}\n")] == both


@pytest.mark.parametrize("text", ["\nfwd_f16_x\n", 'mb1ic8oc8ih"8\n9"', "\n", f"{LINE[:30]}\nx"])
def test_a_refusal_is_one_line(text):
    with pytest.raises(ProblemError) as error:
        found_in_case(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["- id: 85 algo: 5, time: 0.1 ms", "--- MIOpen", "-----", "ckProfiler.log", "make ckProfiler.o"]
)
def test_a_log_s_other_lines_are_one_refusal_each(tmp_path, text):
    path = tmp_path / "log"
    path.write_text(f"{text} and so on\n")
    (entry,) = found_in_list(path)
    assert isinstance(entry, Refused)
    assert "neither a case id nor a command line" in entry.reason


WHOLE = [
    LINE,
    DRIVEN,
    "ckProfiler batched_gemm 1 0 1 1 0 1 4 5 6 8 5 5 32 30 20 3",
    "example_grouped_conv_bwd_weight_wavelet_xdl_fp16 1 1 0 1 2 3 8 16 3 20 2 1 1 1 4",
    'benchdnn --mode=P --conv --dir=BWD_D --dt=f16,bf16 --stag=axb mb4_g1ic64ih28oc128oh10kh3sh3ph1n"a b"',
    "mb1ic3id8oc8kd3dd1pd1",
]


@given(st.sampled_from(WHOLE), st.integers(0, 99), st.integers(0, 3), st.text(max_size=3))
def test_any_line_gives_problems_or_one_line_that_says_why_not(line, at, left_out, put_in):
    text, told = line[:at] + put_in + line[at + left_out :], ""
    try:
        for entry in found_in_case(text):
            perf_of(entry)
            assert parse_case_id(case_id(entry.problem)) == entry.problem
            printed = foreign_line(entry.problem)
            assert printed is None or problems_of(printed) == (entry.problem,)
    except ProblemError as error:
        told = str(error)
    assert "\n" not in told


LOG = f"""\
MIOpen(HIP): Info [get_device_name] Raw device name: gfx942
MIOpen(HIP): Command [LogCmdConvolution] ./bin/{DRIVEN}
- id: 85 algo: 5, time: 0.1 ms, ws: 0, name: ConvAsm1x1U
MIOPEN_FIND_MODE=1 MIOPEN_LOG_LEVEL=5 ./bin/{DRIVEN}
{LINE[:40]} \\
    {LINE[40:]}

mb2ic8iw9oc8ow7kw3n"a benchdnn line"
{CASE}
"""
CASES = [DRIVEN_CASE, DRIVEN_CASE, CASE, case_id(parse_case_id("fwd_f32_nwgc_g1n2k8c8_y3_h9_bias")), CASE]


@pytest.mark.parametrize(
    "data",
    [
        LOG.encode(),
        LOG.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + LOG.encode(),
        codecs.BOM_UTF16_LE + LOG.replace("\n", "\r\n").encode("utf-16-le"),
        codecs.BOM_UTF16_BE + LOG.encode("utf-16-be"),
        LOG.rstrip("\n").encode(),
        LOG.replace(" ./bin/", " \x1b[1;32m./bin/").replace("-t 1", "-t 1\x1b[0m").encode(),
    ],
    ids=["unix", "windows", "utf-8 mark", "powershell", "utf-16 be", "no end", "colours"],
)
def test_a_log_with_lines_of_all_programs(tmp_path, data):
    """PowerShell's redirection writes UTF-16; a backslash joins lines."""
    path = tmp_path / "log"
    path.write_bytes(data)
    found = list(found_in_list(path))
    assert [case_id(entry.problem) for entry in found if isinstance(entry, Understood)] == CASES
    assert [entry.where for entry in found if isinstance(entry, Refused)] == ["line 1", "line 3"]
    assert [entry.where for entry in found if isinstance(entry, Understood)][2] == "line 5"


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"", 0), (b"\n\n#\n", 0), (bytes(range(256)) * 3, None), (b"\x1b[31mred\x1b[0m\n" * 5, 5), (b"\\\n\\", 0)],
    ids=["empty", "comments", "binary", "colours", "backslashes"],
)
def test_a_malformed_list_is_refused_without_control_characters(tmp_path, data, count):
    path = tmp_path / "list"
    path.write_bytes(data)
    found = list(found_in_list(path))
    assert all(isinstance(entry, Refused) for entry in found)
    assert count is None or len(found) == count
    told = "".join(reason.reason for reason in reasons(entry for entry in found if isinstance(entry, Refused)))
    assert not re.search(r"[\x00-\x08\x0e-\x1f\x7f]", told)


@pytest.mark.parametrize(
    ("line", "case"),
    [
        ("example_convnd_fwd_xdl_fp8 1 1 1", "fwd_f8fnuz_gnhwc_g1n128k256c192_y3_h71_s2_p1"),
        ("example_convnd_fwd_xdl_bf8", "fwd_bf8fnuz_bf8fnuz_f8fnuz_gnhwc_g1n128k256c192_y3_h71_s2_p1"),
        ("example_convnd_fwd_xdl_bf8_fp8", "fwd_bf8fnuz_f8fnuz_f8fnuz_gnhwc_g1n128k256c192_y3_h71_s2_p1"),
        ("example_convnd_fwd_xdl_fp8_bf8", "fwd_f8fnuz_bf8fnuz_f8fnuz_gnhwc_g1n128k256c192_y3_h71_s2_p1"),
        ("bin\\example_convnd_fwd_xdl.exe", "fwd_f16_gnhwc_g1n128k256c192_y3_h71_s2_p1"),
    ],
)
def test_types_in_the_name_of_an_example(line, case):
    """Of two the first is the input's; forward convolutions write fp8."""
    assert [case_id(problem) for problem in parse_foreign(line)] == [case_id(parse_case_id(case))]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("example_convnd_fwd_xdl_fp16_fp32", "types fp16, fp32 together are not understood"),
        ("example_convnd_bwd_data_xdl_fp8", "'fp8' is not understood after convnd_bwd_data"),
        ("example_convnd_bwd_data 1 1 1 -1", "the number of spatial dimensions is -1: 1 to 3 are possible"),
    ],
)
def test_refused_examples(line, reason):
    with pytest.raises(ProblemError, match=re.escape(reason)) as error:
        parse_foreign(line)
    assert "without G" not in str(error.value)
