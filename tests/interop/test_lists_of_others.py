"""Lists as teams have them: of which program a line is, what is beside it, and what it cannot mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.interop import Refused, Understood, found_in_list, in_words, parse_foreign, problems_of
from bitgate.interop.benchdnn_match import Pattern
from bitgate.model import ProblemError, case_id, parse_case_id

CONV = "mb1ic8oc8ih5kh3ph1"
CASE = case_id(parse_case_id("fwd_f32_nhwgc_n1k8c8_y3_h5_p1"))
DRIVEN = "MIOpenDriver conv -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -F 1"
HEADER = (
    "NDim,Groups,BatchSize,OutChannels,InChannels,KernelH,KernelW,InputH,InputW,OutputH,OutputW,StrideH,StrideW,"
    "DilationH,DilationW,LeftPadH,LeftPadW,RightPadH,RightPadW,TestName\n"
)
ROW = "2,1,4,128,64,3,3,28,28,10,10,3,3,1,1,1,1,1,1,N2\n"


def read(path: Path, text: str) -> tuple[list[str], list[str], set[str]]:
    """Cases, reasons of refused lines, and notes of a list."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    entries = list(found_in_list(path))
    understood = [entry for entry in entries if isinstance(entry, Understood)]
    refused = [entry.reason for entry in entries if isinstance(entry, Refused)]
    return [case_id(entry.problem) for entry in understood], refused, {one.note for one in understood if one.note}


def test_a_backslash_joins_with_nothing_between(tmp_path):
    """The option stood split, and a convolution with relu was verified as a plain one."""
    text = f"--dir=FWD_D\n--attr-post-ops=\\\n   elu\n{CONV}\n"
    assert read(tmp_path / "list", text)[:2] == ([], [reason_of("--attr-post-ops=elu")])
    text = (
        f"--dir=FWD_D --attr-post-ops=, \\\n     swish:1, \\\n  # a note\n\n  elu\n{CONV}\n--reset --dir=FWD_D {CONV}"
    )
    cases, refused, _ = read(tmp_path / "list", text)
    assert cases == [CASE, CASE]
    assert refused == [reason_of("--attr-post-ops=swish:1"), reason_of("--attr-post-ops=elu")]


def reason_of(option: str) -> str:
    with pytest.raises(ProblemError) as error:
        problems_of(f"--dir=FWD_D {option} {CONV}")
    return str(error.value).partition(": ")[2]


def test_a_comment_ends_with_its_line_whatever_its_last_letter(tmp_path):
    assert read(tmp_path / "list", f"--dir=FWD_D\n# shapes \\\n{CONV}\n")[0] == [CASE]


def test_a_bias_that_is_not_there_has_no_mask(tmp_path):
    cases, refused, _ = read(tmp_path / "list", "--matmul --bia-dt=undef,f32 --bia_mask=1,2 3x4:4x5")
    assert [case.partition("k4")[2] for case in cases] == ["", "_bias"]
    assert refused == [
        "descriptor '3x4:4x5': a bias is understood with mask 2 (one value a column) and without a batch"
    ]


def test_weights_and_bias_gradient_are_two_problems(tmp_path):
    cases, _, notes = read(tmp_path / "list", f"--dir=BWD_WB --dt=f32,f16 {CONV}")
    assert [case.partition("_nhwgc")[0] for case in cases] == [
        "bwd_weight_f32", "reduction_f32_o1l25i8_sum", "bwd_weight_f16", "reduction_f16_o1l25i8_sum"
    ]  # fmt: skip
    assert notes == {"the bias of --dir=BWD_WB is f32 in benchdnn; here it has the type of y, f16"}


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("kh3", 2), ("*.kh3", None), (".*kh3.*", 2), ("kh[0-2]", 1), ('n"first"$', 1), ("^--dir=BWD_D ", 3), ("^ic", 0),
        # as benchdnn prints it: with the output, and without what is at its default
        ("ih5oc8oh5kh3ph1", 2), ("mb2", 0), ("sh1", 0),
    ],
)  # fmt: skip
def test_match_keeps_what_benchdnn_would_run(tmp_path, pattern, kept):
    shapes = f'{CONV} ic8oc8ih5kh3ph1n"first" ic8oc8ih5kh1'
    cases, refused, _ = read(tmp_path / "list", f"--dir=BWD_D --match={pattern} {shapes}\n--match= --reset {CONV}")
    assert (len(cases), len(refused)) == ((1, 3) if kept is None else (kept + 1, 0))


def test_a_pattern_takes_no_time_that_grows_with_its_stars():
    assert not Pattern(".*" * 60 + "y").found_in("x" * 500)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("deconv/shapes", "ic16oc16ow5iw5kw3pw1\n", "the folder of its file says deconv"),
        ("test_deconv_ci", "ic16oc16ow5iw5kw3pw1\n", "the name of its file says deconv"),
        ("shapes", 'ic16oc16ow5iw5kw3pw1n"deconv_1d"\n', "is one of --deconv by its name or lengths"),
        ("shapes", "ic16oc16ow5iw5kw3pw1\nic16oc16ih4oh8kh2sh2ph0\n", "is one of --deconv by its name or lengths"),
        ("binary/shapes", "8x8:8x8\n", "the folder of its file says binary"),
    ],
)
def test_bare_shapes_of_another_driver_are_no_convolutions(tmp_path, name, text, why):
    cases, refused, _ = read(tmp_path / name, text)
    assert cases == []
    assert len(refused) == text.count("\n")
    assert all(why in reason for reason in refused)
    driver = "matmul" if "x" in text else "conv"
    assert read(tmp_path / name, f"--{driver}\n{text}")[1] == []


def test_another_driver_holds_until_one_is_named(tmp_path):
    """A reset takes back its options, and not the driver."""
    cases, refused, _ = read(
        tmp_path / "list", f"--deconv --reset --dir=FWD_D {CONV} --dt=f16\n{CONV}\n--conv {CONV}\n"
    )
    assert len(cases) == 1
    assert [reason.partition(" is not")[0] for reason in refused] == ["option '--deconv'"] * 2


def test_a_folder_of_convolutions_may_name_a_deconvolution(tmp_path):
    assert len(read(tmp_path / "conv" / "shapes", 'ic16oc16ow5iw5kw3pw1n"deconv_1d"\n')[0]) == 1


@pytest.mark.parametrize("line", ['docker exec c "{}"', "docker exec -ti <it> sh -c '{}'", "{}"])
def test_arguments_that_stand_for_others_are_no_defaults(line):
    for placeholder in ("<args>", "<your args>", "[args]", "$ARGS"):
        with pytest.raises(ProblemError, match="is not an option"):
            parse_foreign(line.format(f"MIOpenDriver conv {placeholder}"))
    assert len(parse_foreign(line.format(DRIVEN))) == len(parse_foreign(f"{DRIVEN} < /dev/null")) == 1


def test_nothing_after_a_word_that_ends_benchdnn_is_read(tmp_path):
    line = f"benchdnn --conv --dir=FWD_D {CONV} --attr-post-ops=\\\n relu {CONV}\n"
    cases, refused, _ = read(tmp_path / "list", line)
    assert cases == [CASE]
    assert refused == ["'relu' is no descriptor: benchdnn ends there, so nothing from it on is read"]


def test_names_before_bars_are_no_part_of_a_line(tmp_path):
    lines = [f"conv1|{DRIVEN}", f"a/b | {DRIVEN}", f"x|y|--dir=FWD_D {CONV}", f"z|{CASE}", f"cat x || {CASE}"]
    cases, refused, _ = read(tmp_path / "list", "\n".join(lines))
    assert len(cases) == 4
    assert cases[2:] == [CASE, CASE]
    assert len(refused) == 1


@pytest.mark.parametrize("name", ["conv_fwd.csv", "conv_fwd_shapes.txt"])
def test_data_sets_of_ck_are_lists(tmp_path, name):
    cases, refused, notes = read(tmp_path / name, f"# per group\n{HEADER}{ROW}{ROW.replace('10,10', '9,10')}")
    assert cases == [case_id(parse_case_id("fwd_f16_nhwgc_n4k128c64_y3_h28_s3_p1"))]
    assert refused == ["the output is stated as 9x10, 10x10 follows from the other columns"]
    assert notes == {"the table states no dtypes and no layout: fwd in f16, nhwgc"}


def test_equal_refusals_are_one_line_with_a_count():
    refused = [Refused(f"line {at}", f"descriptor 'ic{at}': kh is missing or 0") for at in range(1, 107)]
    assert in_words(refused, 4) == [
        "refused: 106 of 110, not looked at", "  106 x kh is missing or 0 (first: line 1)"
    ]  # fmt: skip
