"""The same cases from a CSV table, CK's C++ source, command lines, and our own TOML."""

from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.model import case_id
from bitgate.model.space.table import TableRequest
from bitgate.ops.convolution import Pass
from bitgate.tools.coverage.assume import Assumptions, spread
from bitgate.tools.coverage.readers import read

DATA = Path(__file__).parent / "data"
CASE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_d1x1_p1x1_q1x1"


def ids(path: Path, **question: object) -> list[str]:
    return [case_id(row.problem) for row in read(path, TableRequest(**question)).rows]  # type: ignore[arg-type]


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_csv_of_ck_has_22_rows_before_the_fix_and_25_after() -> None:
    path = DATA / "ck_bwd_data_shapes.csv"
    assert len(ids(path)) == 25
    assert len(ids(path, where=(("era", "before_7732"),))) == 22
    assert len(ids(path, where=(("", "before_7732"),))) == 22
    assert CASE in ids(path)


def test_csv_takes_its_pass_from_file_name_or_option() -> None:
    assert {row.problem.direction for row in read(DATA / "ck_bwd_weight_shapes.csv", TableRequest()).rows} == {
        Pass.BWD_WEIGHT
    }
    assert ids(DATA / "ck_bwd_data_shapes.csv", operation=Pass.FWD.value)[0].startswith("fwd_")


def test_csv_needs_little(tmp_path: Path) -> None:
    path = written(tmp_path, "cases.csv", "N,K,C,filter,input\n2,8,4,3,9x7\n")
    assert ids(path) == ["bwd_data_f16_nhwgc_g1n2k8c4_y3x3_h9x7_s1x1_d1x1_p0x0_q0x0"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("N,K,filter,input\n", "column c is missing"),
        ("N,K,C,filter,input\n1,1,1,3x3x3,4x4\n", ":2: filter = 3x3x3: give 2 numbers"),
        ("N,K,C,filter,input\n1,1,1,9,4\n", ":2: axis 0: the dilated filter covers 9"),
        ("N,K,C,filter,input\n", "no case found"),
    ],
)
def test_a_bad_csv_says_where(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(written(tmp_path, "cases.csv", text), TableRequest())


GTEST = """
// {2, 9, 9, 9, 9, {3, 3}, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}} is only a comment
TYPED_TEST(TestGroupedConvndBwdData2d, Test2D)
{
    this->conv_params.push_back({2, 1, 4, 128, 64, {3, 3}, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
    this->conv_params.push_back( // over two lines
        {2, 1, 4, 128, 64, {3, 3}, {28, 28},
         {3, 3}, {1, 1}, /* pads */ {1, 1}, {1, 1}});
    params.emplace_back(2, 1, 4, 128, 64, std::vector<ck::index_t>{3, 3}, std::vector<ck::index_t>{28, 28},
                        std::vector<ck::index_t>{3, 3}, std::vector<ck::index_t>{1, 1},
                        std::vector<ck::index_t>{1, 1}, std::vector<ck::index_t>{1, 1});
    std::vector<ConvParam> more{{3, 1, 1, 1, 32, {3, 3, 3}, {4, 16, 16}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
    params.push_back({2, 1, n, 128, 64, {3, 3}, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
    params.push_back({2, 1, 4, 128, 64, {3}, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}});
}
"""


def test_initialisers_in_a_cpp_source(tmp_path: Path) -> None:
    table = read(written(tmp_path, "test_shapes.cpp", GTEST), TableRequest())
    assert [case_id(row.problem) for row in table.rows[:3]] == [CASE] * 3
    assert [row.name for row in table.rows] == ["line 5", "line 7", "line 9", "line 12"]
    assert table.rows[3].problem.ndim == 3
    assert len(table.notes) == 2
    assert "line 14: 2 dimensions stated" in table.notes[0]
    assert "1 push_back calls hold no literal numbers" in table.notes[1]


def test_command_lines_and_case_ids(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "cases.txt",
        "# two spellings of one problem\n"
        "ckProfiler grouped_conv_bwd_data 1 1 1 1 0 1 2 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1 1\n"
        f"{CASE}\n\nnonsense line\n",
    )
    table = read(path, TableRequest())
    assert [case_id(row.problem) for row in table.rows] == [CASE, CASE]
    assert [line.where for line in table.refused] == ["line 5"]


def test_a_list_keeps_what_begins_with_a_hash_and_is_no_comment(tmp_path: Path) -> None:
    line = "MIOpenDriver conv -_ 3 -n 1 -c 2 -k 4 -! 5 -H 6 -W 7 -@ 1 -y 2 -x 3 -# 2 -F 4 # strides of three axes\n"
    assert ids(written(tmp_path, "cases.txt", line)) == [
        "bwd_weight_f32_ngcdhw_gkczyx_g1n1k4c2_y1x2x3_h5x6x7_s2x1x1_d1x1x1_p0x0x0_q0x0x0"
    ]


def test_benchdnn_shape_files_are_lists(tmp_path: Path) -> None:
    text = '# ResNet\n--dir=BWD_D --dt=f16\nmb4_g1ic64ih28oc128oh10kh3sh3ph1n"res"\nic64oc64iw7kh3\n2x3:3x4\n'
    table = read(written(tmp_path, "shapes", text), TableRequest())
    assert [row.name for row in table.rows] == ["line 3"]
    assert ids(tmp_path / "shapes") == [CASE]
    assert [(line.where, line.reason) for line in table.refused] == [
        ("line 4", "descriptor 'ic64oc64iw7kh3': ih is missing or 0"),
        ("line 5", "option '--dir=BWD_D' is not understood: --dt, --stag, --wtag, --dtag, --bia-dt, --bia-mask,"
                   " --attr-post-ops, --cfg, --reset, --batch are"),
    ]  # fmt: skip


GUARDED = """
#if 0 // dead
#ifdef MORE
    this->conv_param = {2, 1, 1, 8, 8, {3, 3}, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
#endif
    this->conv_param = {2, 1, 2, 8, 8, {3, 3}, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
#else
    const ck::utils::conv::ConvParam alive{2, 1, 3, 8, 8, {3, 3}, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
#endif
#if defined(CK_ENABLE_FP16)
    this->conv_param = {2, 1, 4, 8, 8, {3, 3}, {1'024, 9u}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
#endif
"""


def test_a_case_that_is_not_compiled_covers_nothing(tmp_path: Path) -> None:
    assert ids(written(tmp_path, "test_conv_fwd.cpp", GUARDED)) == [
        "fwd_f16_nhwgc_g1n3k8c8_y3x3_h9x9_s1x1_d1x1_p1x1_q1x1",
        "fwd_f16_nhwgc_g1n4k8c8_y3x3_h1024x9_s1x1_d1x1_p1x1_q1x1",
    ]


def test_matrix_products_are_rows_beside_convolutions(tmp_path: Path) -> None:
    path = written(tmp_path, "shapes", f"{CASE}\n2x3:3x4\ngemm_f16_rcr_b1m8n8k8\n")
    assert ids(path) == [CASE, "gemm_f32_rcr_b1m2n4k3", "gemm_f16_rcr_b1m8n8k8"]
    assert read(path, TableRequest()).refused == ()


CK_HEADER = (
    "NDim,Groups,BatchSize,OutChannels,InChannels,KernelH,KernelW,InputH,InputW,OutputH,OutputW,StrideH,StrideW,"
    "DilationH,DilationW,LeftPadH,LeftPadW,RightPadH,RightPadW,TestName\n"
)
CK_ROW = "2,1,4,128,64,3,3,28,28,10,10,3,3,1,1,1,1,1,1,N2\n"


def test_data_sets_of_ck_say_their_outputs_and_are_held_to_them(tmp_path: Path) -> None:
    text = f"# Channels are per group.\n{CK_HEADER}# the founding bug\n{CK_ROW}{CK_ROW.replace('10,10', '9,10')}2,1,x\n"
    path = written(tmp_path, "conv_bwd_data.csv", text)
    table = read(path, TableRequest())
    assert [(row.name, case_id(row.problem)) for row in table.rows] == [("N2", CASE)]
    assert [(line.where, line.reason) for line in table.refused] == [
        ("line 5", "the output is stated as 9x10, 10x10 follows from the other columns"),
        ("line 6", "batchsize is 'x', not a number"),
    ]
    assert ids(path, where=(("TestName", "N2"), ("groups", "1"))) == [CASE]


def test_data_sets_of_ck_in_three_dimensions(tmp_path: Path) -> None:
    names = [name.replace("H", "D") for name in CK_HEADER.split(",") if name.endswith("H")]
    header = CK_HEADER
    for name in names:
        header = header.replace(name[:-1] + "H", f"{name},{name[:-1]}H")
    row = "3,2,1,8,4,1,3,3,5,6,7,5,3,7,1,2,1,1,1,1,0,1,1,0,0,1,cube\n"
    assert ids(written(tmp_path, "conv_fwd.csv", header + row)) == [
        "fwd_f16_ndhwgc_g2n1k8c4_y1x3x3_h5x6x7_s1x2x1_d1x1x1_p0x1x1_q0x0x1"
    ]


def test_our_own_tables(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "cases.toml",
        '[defaults]\npass = "bwd_data"\ndtypes = ["f16", "f32"]\nlayouts = ["nhwgc"]\n'
        '[[case]]\nname = "N2"\nshape = "g1n4k128c64_y3x3_h28x28_s3_p1"\nwhy = "nine sub-GEMMs"\n'
        '[[case]]\nname = "no"\nshape = "g1n4k12c64_y3x3_h28x28"\nwhy = "refused"\nexpect = { refused = "k" }\n',
    )
    assert ids(path) == [CASE, CASE.replace("f16", "f32")]
    assert ids(path, where=(("name", "N2"),)) == ids(path)
    with pytest.raises(UsageError, match="no case found with name=N1"):
        ids(path, where=(("name", "N1"),))


def test_assumptions_spread_what_a_table_leaves_out() -> None:
    table = read(DATA / "ck_bwd_data_shapes.csv", TableRequest(where=(("id", "N2"),)))
    assumed = Assumptions.parse(["split_k=1,2", "layout=gnhwc"], [])
    assert [case_id(row.problem) for row in spread(table, assumed)] == [
        CASE.replace("nhwgc", "gnhwc"),
        CASE.replace("nhwgc", "gnhwc") + "_sk2",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("numd", "write NAME=VALUE"),
        ("num_d=0", "did you mean 'numd'"),
        ("numd=7", "give 0 or 1"),
        ("layout=hwc", "known are"),
        ("dtypes=f17", "unknown dtype"),
        ("split_k=x", "split_k=x"),
        ("tile=8", "tile=128x128x32"),
    ],
)
def test_a_bad_assumption_says_what_is_known(text: str, says: str) -> None:
    table = read(DATA / "ck_bwd_data_shapes.csv", TableRequest(where=(("id", "N2"),)))
    with pytest.raises(UsageError, match=says):
        list(spread(table, Assumptions.parse([text], ["g", "stride"])))
