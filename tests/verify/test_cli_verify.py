"""``bitgate verify`` and ``bitgate explain`` as their users see them, on the real grouped kernel."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitgate.cli.faults_locate import locating
from bitgate.cli.main import run
from bitgate.kernel.registry import families
from bitgate.results.record import Key, Outcome, Verdict

NINE = "bwd_data_f16_nhwgc_g1n4k128c64_y3x3_h28x28_s3x3_p1x1"
FOUR = "bwd_data_f16_nhwgc_g1n2k64c64_y5x5_h20x35_s2x2_p1x1"
THIRTY_SIX = "bwd_data_f16_nhwgc_g1n2k64c64_y6x6_h28x28_s6x6_p1x1"
FLAT = "bwd_data_f16_nhwgc_g1n2k64c64_y3x3_h14x14_p1x1"
F16 = [i for i in families()["grouped_bwd_data"].instances if i.dtypes == ("f16",) and i.vector == (8, 8, 8)]
ONE = f"grouped_bwd_data.{F16[0].name}"
UNHEALTHY = str(Path(__file__).parent / "unhealthy" / "declaration.py")


@pytest.fixture
def bitgate(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("case", "path", "gemms_count", "buckets"),
    [(FLAT, "flat", 1, 1), (FOUR, "grouped", 4, 1), (NINE, "grouped", 9, 1), (THIRTY_SIX, "grouped", 36, 2)],
)
def test_every_sub_gemm_is_computed(bitgate, case, path, gemms_count, buckets):
    code, out, _ = bitgate("verify", case, "--kernel", "grouped_bwd_data*", "--json")
    document = json.loads(out)
    assert code == 0
    assert len(document["verdicts"]) >= 3
    for verdict in document["verdicts"]:
        assert verdict["verdict"] == "PASS"
        dispatch = verdict["dispatch"]
        assert (dispatch["path"], dispatch["gemms_count"], dispatch["buckets"]) == (path, gemms_count, buckets)
    assert len({verdict["digest"] for verdict in document["verdicts"]}) == 1


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (FOUR, "sub-GEMMs 1 to 3 of 4 are missing"),
        (NINE, "sub-GEMMs 1 to 8 of 9 are missing"),
        (THIRTY_SIX, "sub-GEMMs 2 to 35 of 36 are missing"),
    ],
)
def test_the_founding_bug_is_named(bitgate, case, sentence):
    arguments = ("--kernel", ONE, "--option", "flat_path_gate=off")
    code, out, _ = bitgate("verify", case, *arguments, "--json")
    (verdict,) = json.loads(out)["verdicts"]
    assert code == 1
    assert verdict["verdict"] == "MISMATCH"
    assert verdict["diagnosis"]["kinds"] == ["missing_sub_gemm"]
    assert sentence in verdict["diagnosis"]["sentence"]
    assert "are zero" in verdict["diagnosis"]["sentence"]
    assert "--option flat_path_gate=off" in verdict["repro"]
    assert len(json.dumps(verdict["diagnosis"]["evidence"])) <= 4096
    assert bitgate("verify", case, *arguments[:2])[0] == 0


def test_the_founding_bug_is_named_on_real_numbers_too(bitgate):
    arguments = ("--kernel", ONE, "--option", "flat_path_gate=off", "--fill", "decimal")
    code, out, _ = bitgate("verify", NINE, *arguments)
    assert code == 1
    assert "sub-GEMMs 1 to 8 of 9 are missing" in out
    assert bitgate("verify", NINE, *arguments[:2], "--fill", "decimal")[0] == 0


@pytest.mark.parametrize(
    "case",
    [
        "bwd_data_f16_nhwgc_g2n2k64c64_y3x3_h14x14_s2x2_p1x1",
        "bwd_data_f16_ndhwgc_g1n1k64c64_y3_h6_s2_p1",
        "bwd_data_f16_nhwgc_g1n2k64c64_y3x3_h14x14_s2x2_p1x1_bilinear",
        FLAT,
    ],
)
def test_the_founding_bug_shows_nowhere_else(bitgate, case):
    code, out, _ = bitgate("verify", case, "--kernel", ONE, "--option", "flat_path_gate=off")
    assert code == 0
    assert out.startswith("PASS")


def test_a_foreign_line_is_a_case(bitgate):
    line = "ckProfiler grouped_conv_bwd_data 1 1 1 1 0 0 2 1 2 16 16 3 3 9 9 2 2 1 1 1 1 1 1 1"
    code, out, _ = bitgate("verify", line, "--kernel", "grouped_bwd_data*")
    assert code == 0
    assert "bwd_data_f16_nhwgc_g1n2k16c16_y3x3_h9x9_s2x2_d1x1_p1x1_q1x1" in out
    assert "\x1b" not in out


def test_a_red_verdict_shows_cells_and_how_to_run_it_again(bitgate):
    code, out, _ = bitgate("verify", NINE, "--kernel", ONE, "--option", "flat_path_gate=off")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("MISMATCH")
    assert "g  n  c  h  w  result  reference" in out
    assert lines[-4].startswith("  again: bitgate verify")
    assert lines[-3].startswith("  also:  ckProfiler grouped_conv_bwd_data 1 1")
    again = lines[-4].removeprefix("  again: bitgate verify")
    assert lines[-1] == f"the line of a defect: bitgate faults locate{again}"


@pytest.mark.parametrize("more", ["--race", "--laws", "--concurrent", "--repeat 3", "--launcher 'emulator --config a'"])
def test_a_line_is_looked_for_where_the_command_takes_the_cases_options(more):
    """It was suggested with options that it refuses."""
    taken = f"bitgate verify {NINE} --kernel a.b --load 'my kernels.py' --fill exact --seed 1 --option x=off"
    red = Verdict(Key(NINE, "a", "b", (), "exact", 1, "forward", "host"), Outcome.MISMATCH, repro=taken)
    assert locating(red) == taken.replace("bitgate verify", "bitgate faults locate")
    assert locating(replace(red, repro=f"{taken} {more}")) == ""
    assert locating(replace(red, outcome=Outcome.INFRA)) == locating(replace(red, repro="")) == ""


def test_a_red_case_is_shrunk_on_demand(bitgate):
    case = "bwd_data_f16_nhwgc_g1n2k8c8_y2x1_h5x1_s2x1"
    code, out, _ = bitgate("verify", case, "--kernel", ONE, "--option", "flat_path_gate=off", "--shrink", "60")
    assert code == 1
    assert "stride[0] 2 fails, 1 passes" in out
    assert "16 multiply-adds (found with 512" in out
    again = [line for line in out.splitlines() if line.startswith("  again: bitgate verify")]
    assert len(again) == 2
    assert all("--option flat_path_gate=off" in line for line in again)


def test_a_green_case_is_not_shrunk(bitgate):
    code, out, _ = bitgate("verify", FLAT, "--kernel", ONE, "--shrink", "60", "--json")
    assert code == 0
    assert json.loads(out)["shrunk"] == []


def test_nothing_compared_is_exit_code_3(bitgate):
    code, out, _ = bitgate("verify", "bwd_data_f64_nhwgc_g1n1k8c8_y1_h4", "--kernel", "grouped_bwd_data*", "--json")
    document = json.loads(out)
    assert code == 3
    assert {verdict["verdict"] for verdict in document["verdicts"]} == {"REFUSED"}
    assert all(verdict["reason"].startswith("dtypes: ") for verdict in document["verdicts"])
    assert bitgate("verify", "fwd_f16_nhwgc_g1n1k8c8_y1_h4", "--kernel", "grouped_bwd_data*")[0] == 3


def test_the_dump_holds_the_tensors(bitgate, tmp_path):
    case = "bwd_data_bf16_nhwgc_g1n1k16c16_y1_h4"
    code, _, _ = bitgate("verify", case, "--kernel", "naive_conv", "--dump", str(tmp_path))
    assert code == 0
    (folder,) = tmp_path.iterdir()
    arrays = {path.stem: np.load(path) for path in folder.iterdir()}
    assert set(arrays) == {"out", "wei", "result", "reference"}
    assert arrays["result"].shape == (1, 1, 16, 4, 4)
    expected = np.einsum("gnkhw,gkcyx->gnchw", arrays["out"], arrays["wei"])
    assert np.abs(arrays["result"] - expected).max() <= np.abs(expected).max() / 256


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fwd_f16",), "expected g..n..k..c.. after the layout"),
        (("ckProfiler softmax 1",), "'softmax' is not understood"),
        ((NINE, "--kernel", "grouped_bwd_dat"), "did you mean 'grouped_bwd_data"),
        ((NINE, "--option", "flat_path_gat=off"), "did you mean 'flat_path_gate'"),
        ((NINE, "--option", "flat_path_gate"), "write NAME=VALUE"),
        (
            (NINE, "--option", "flat_path_gate=off", "--option", "flat_path_gate=gemms_count"),
            "flat_path_gate is off already; give it once",
        ),
        ((NINE, "--seed", "1000000000000000000"), "less than or equal to 999999999999999999"),
        ((NINE, "--option", "flat_path_gate=on"), "gemms_count or launch_each or off"),
        ((NINE, "--fill", "exat"), "did you mean 'exact'?"),
        ((NINE, "--schedule", "backwards"), "forward, reverse, lockstep or random:N"),
        ((NINE, "--target", "gfx9421"), "unknown target 'gfx9421'"),
        ((NINE, "--reference", "oracle"), "auto, exact, ordered"),
        ((NINE, "--load", "nowhere.py"), "nowhere.py: no such declaration file"),
        ((NINE, "--isolate", "--in-process"), "exclude each other"),
        ((NINE, "--nonsense"), "No such option"),
    ],
)
def test_a_mistake_is_exit_code_2_and_says_what_to_do(bitgate, arguments, message):
    code, out, err = bitgate("verify", *arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_a_users_kernel_runs_in_a_process_of_its_own(bitgate):
    case = "fwd_f32_nhwgc_g1n1k8c4_y3_h6_p1"
    code, out, _ = bitgate("verify", case, "--kernel", "unhealthy", "--load", UNHEALTHY, "--option", "illness=abort")
    assert code == 1
    assert "died of SIGABRT" in out
    code, out, _ = bitgate("verify", case, "--kernel", "unhealthy", "--load", UNHEALTHY, "--option", "illness=more")
    assert code == 1
    assert "the library refuses (mood) what its declaration supports" in out


def test_explain_a_verdict_and_a_kind(bitgate):
    assert bitgate("explain", "mismatch") == (0, "MISMATCH: the result differs from the reference\n", "")
    assert "never ran" in bitgate("explain", "missing_sub_gemm")[1]
    code, _, err = bitgate("explain", "PASSS")
    assert code == 2
    assert "did you mean 'PASS'?" in err


def test_explain_draws_the_decomposition(bitgate):
    _, out, _ = bitgate("explain", "bwd_data_f16_g3n2k24c8_y3x2_h13x17_s2x3_d1x2_p2x0_q0x1")
    assert "  0 . 1\n  2 . 3\n" in out
    assert "       0    0x0   2x1  112  8  48       0\n" in out
    assert "35.3% of dx gets no contribution and must be zero" in out
    _, out, _ = bitgate("explain", "bwd_data_f16_g1n1k8c8_y2x2x2_h6x6x6_s2x3x2")
    assert "depth 0:\n  0 1\n  2 3\n  . .\ndepth 1:\n  4 5\n  6 7\n  . .\n" in out
    _, out, _ = bitgate("explain", "fwd_f16_nhwgc_g1n4k128c64_y3x3_h28x28_p1")
    assert "one GEMM a group: M = N * outputs = 3136, N = K = 128, K = C * taps = 576" in out


def test_nothing_is_compared_without_a_reference(bitgate):
    """It runs, and neither its bits nor their absence decide anything; the exit code says so."""
    code, out, _ = bitgate("verify", FOUR, "--kernel", ONE, "--reference", "none", "--json")
    document = json.loads(out)
    (verdict,) = document["verdicts"]
    assert code == document["summary"]["exit"] == 3
    assert (verdict["verdict"], verdict["green"], verdict["digest"]) == ("NOT_RUN", True, "")
    assert "nothing was compared" in verdict["reason"]
    assert verdict["dispatch"]["gemms_count"] == 4
    assert "--reference none" in verdict["repro"]


@pytest.mark.parametrize(("mode", "reference", "code"), [(0, "none", 3), (1, "exact", 0), (2, "gpu", 0)])
def test_the_verification_mode_of_a_profiler_line(bitgate, mode, reference, code):
    line = f"ckProfiler grouped_conv_bwd_data 1 1 {mode} 1 0 0 1 1 2 16 16 3 9 2 1 1 1 1"
    ended, out, _ = bitgate("verify", line, "--kernel", ONE, "--json")
    assert ended == code
    assert {verdict["reference"] for verdict in json.loads(out)["verdicts"]} == {reference}
    stated = bitgate("verify", line, "--kernel", ONE, "--reference", "ordered", "--json")
    assert json.loads(stated[1])["verdicts"][0]["reference"] == "ordered"


@pytest.mark.parametrize(
    ("line", "more", "fill", "reference"),
    [
        ("ckProfiler grouped_conv_bwd_data 1 1 1 2 0 0 1 1 2 16 16 3 9 2 1 1 1 1", (), "decimal", "bounds"),
        # decimals of the naive kernel are those of its order of summation
        ("ckProfiler grouped_conv_bwd_data 1 1 2 2 0 0 1 1 2 16 16 3 9 2 1 1 1 1", (), "decimal", "bounds"),
        (
            "ckProfiler grouped_conv_bwd_data 1 1 1 2 0 0 1 1 2 16 16 3 9 2 1 1 1 1",
            ("--fill", "exact"),
            "exact",
            "exact",
        ),
        ("example_convnd_bwd_data 1 2 0 1 1 2 16 16 3 9 2 1 1 1", (), "decimal", "bounds"),
        ("ckProfiler grouped_conv_bwd_data 1 1 1 0 0 0 1 1 2 16 16 3 9 2 1 1 1 1", (), "exact", "exact"),
    ],
)
def test_the_data_that_a_line_asks_for(bitgate, line, more, fill, reference):
    ended, out, _ = bitgate("verify", line, "--kernel", ONE, "--json", *more)
    assert ended == 0
    (verdict,) = json.loads(out)["verdicts"]
    assert (verdict["fill"], verdict["reference"]) == (fill, reference)


def test_the_naive_kernel_takes_no_split_k_so_the_cpu_verifies(bitgate):
    line = "ckProfiler grouped_conv_bwd_weight 1 2 2 1 0 0 1 1 2 16 16 3 9 1 1 1 1 2"
    ended, out, _ = bitgate("verify", line, "--kernel", "grouped_bwd_weight.f16_32x32x32_a1b1c1", "--json")
    assert ended == 0
    assert [verdict["reference"] for verdict in json.loads(out)["verdicts"]] == ["exact"]


def test_zeros_prove_nothing(bitgate):
    code, _, err = bitgate("verify", FOUR, "--kernel", ONE, "--fill", "zeros")
    assert code == 2
    assert "zeros" in err


LIST = """# shapes of a team
--dir=FWD_D --dt=f32
mb1ic8oc8ih5kh3ph1n"a"
--dt=u8:s8:f32
mb1ic8oc8ih5kh3ph1n"b"
mb1ic8oc8ih6kh3ph1n"c"
ckProfiler grouped_conv_bwd_data 1 1 1 1 0 1 2 1 1 8 8 3 3 8 8 3 3 1 1 1 1 1 1 1
ckProfiler grouped_conv_bwd_data 1 1 7 1 0 1 2 1 1 8 8 3 3 8 8 3 3 1 1 1 1 1 1 1
"""


def test_a_list_is_verified_and_refusals_follow_the_result(tmp_path, capsys):
    path = tmp_path / "list"
    path.write_text(LIST)
    command = ["verify", "--cases", str(path), "--kernel", "naive_conv*", "--target", "host"]
    assert run(command) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert said.err == ""
    assert lines[2:4] == [
        "cases: 2 asked, 2 compared, 0 refused, 0 not run; verdicts: 2 PASS",
        "refused: 3 of 5, not looked at",
    ]
    assert lines[4].startswith("  2 x types 'u8:s8:f32' (--dt, --cfg) are not understood")
    assert lines[4].endswith("(first: line 5)")
    assert lines[5].startswith("  1 x the verification is 7: 0 (none)")
    assert run([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [reason["count"] for reason in printed["refused"]] == [2, 1]
    assert printed["summary"]["refused_lines"] == 3
    assert run([*command, "--fail-on-refused"]) == 1
    path.write_text(LIST.splitlines()[-2] + "\n")
    assert run([*command, "--fail-on-refused"]) == 0


def test_a_case_that_cannot_be_asked_loses_no_other(tmp_path, capsys):
    """The first has no exact reference; the second has its verdict, and the exit code is that of a mistake."""
    cases = [f"fwd_f32_nhwgc_g1n1k1c{c}_y1x1_h2x2" for c in (3, 2)]
    path = tmp_path / "list"
    path.write_text("\n".join(cases))
    command = ["verify", "--cases", str(path), "--kernel", "grouped_fwd*", "--target", "host", "--json"]
    assert run([*command, "--fill", "decimal", "--reference", "exact"]) == 2
    said = capsys.readouterr()
    assert said.err.count("bitgate: ") == len(json.loads(said.out)["errors"]) > 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file"),
        ("# nothing\n", "no case found\n"),
        ("--ip\nic8oc8ih5kh3\n", "no case found, 1 lines refused: line 2: option '--ip' is not understood"),
    ],
)
def test_a_list_without_a_case_is_no_green_run(text, says, tmp_path, capsys):
    path = tmp_path / "list"
    if text is not None:
        path.write_text(text)
    assert run(["verify", "--cases", str(path)]) == 2
    assert says in capsys.readouterr().err


def test_no_case_at_all(capsys):
    assert run(["verify"]) == 2
    assert "name a case, or a list of them with --cases FILE" in capsys.readouterr().err


FORWARD, BACKWARD = "fwd_f16_nhwgc_g1n1k8c8_y3x3_h6x6", "bwd_weight_f16_nhwgc_g1n1k8c8_y3x3_h6x6"
WAVELET = ("--kernel", "bwd_weight_wavelet.f16_64x64x32_a1b1c1*")


def test_every_case_that_is_named_has_a_verdict(bitgate):
    """It said "2 PASS", ended with 0, and was silent about the first."""
    code, out, _ = bitgate("verify", FORWARD, BACKWARD, *WAVELET, "--json")
    document = json.loads(out)
    assert code == document["summary"]["exit"] == 1
    first = document["verdicts"][0]
    assert (first["case"].partition("_")[0], first["verdict"], first["green"]) == ("fwd", "NOT_RUN", False)
    assert "does this operation (fwd)" in first["reason"]
    assert {verdict["verdict"] for verdict in document["verdicts"][1:]} == {"PASS"}
    counts = {name: document["summary"][name] for name in ("asked", "compared", "refused", "not_run")}
    assert counts == {"asked": 2, "compared": 1, "refused": 0, "not_run": 1}


def test_a_case_refused_by_all_is_not_green_next_to_a_pass(bitgate):
    refused = "bwd_weight_f32_nhwgc_g1n1k8c8_y3x3_h6x6"
    code, out, _ = bitgate("verify", refused, BACKWARD, *WAVELET)
    assert code == 1
    assert out.splitlines()[-1].startswith("cases: 2 asked, 1 compared, 1 refused, 0 not run; verdicts: ")


def test_equal_refusals_of_a_case_are_one_line(bitgate):
    code, out, _ = bitgate("verify", "bwd_data_f64_nhwgc_n1k8c8_y1_h4", "--kernel", "grouped_bwd_data*")
    first, last = out.splitlines()
    assert code == 3
    assert re.fullmatch(
        r"REFUSED  bwd_data_f64\S+  \d+ kernels: \d+ x dtypes: f64 is not \w+; .* \(all: --json\)", first
    )
    assert "1 asked, 0 compared, 1 refused, 0 not run" in last


def test_cases_with_nothing_to_compare_are_named_with_a_reason(bitgate):
    """It said "2 asked, 1 compared, 0 refused, 0 not run", and ended with 1."""
    nothing, something = (f"bwd_data_f16_nhwgc_g1n1k8c8_y2x2_h{size}_s1x1_d3x3_p2x2" for size in ("1x1", "2x2"))
    code, out, _ = bitgate("verify", nothing, something, "--kernel", ONE)
    lines = out.splitlines()
    assert code == 1
    assert lines[-2].startswith(f"nothing to compare: {nothing}_q2x2: no product exists")
    assert lines[-1] == (
        "cases: 2 asked, 1 compared, 0 refused, 0 not run, 1 nothing to compare; verdicts: 2 PASS;"
        " exit code 1: 1 of 2 cases not compared (1 nothing to compare)"
    )


def test_a_bias_of_another_type_is_told_after_the_result(bitgate):
    code, out, _ = bitgate("verify", "benchdnn --conv --dt=f16 mb1ic8oc8ih5kh3ph1", "--kernel", "naive_conv*", "--json")
    assert code == 0
    note = "1 x the bias of --dir=FWD_B is f32 in benchdnn; here it has the type of y, f16"
    assert json.loads(out)["notes"] == [note]


def test_one_line_says_what_became_of_what_was_asked(bitgate):
    code, out, _ = bitgate("verify", BACKWARD, *WAVELET)
    assert (code, out.splitlines()[-1][:44]) == (0, "cases: 1 asked, 1 compared, 0 refused, 0 not")
    code, out, _ = bitgate("verify", FORWARD, *WAVELET)
    assert code == 3
    assert out.splitlines()[-1].startswith("nothing was compared; cases: 1 asked, 0 compared, 0 refused, 1 not run")


def test_what_is_loaded_is_verified_alone(bitgate):
    case = "fwd_f32_nhwgc_g1n1k1c4_y3_h6_p1"
    code, out, _ = bitgate("verify", case, "--load", UNHEALTHY, "--json")
    assert code == 0
    assert {verdict["kernel"] for verdict in json.loads(out)["verdicts"]} == {"unhealthy"}


def test_a_loaded_kernel_never_sees_what_it_does_not_declare(bitgate):
    """Its predicate looks at C alone; its library would be asked about f16."""
    code, out, _ = bitgate("verify", FORWARD, "--load", UNHEALTHY, "--json")
    (verdict,) = json.loads(out)["verdicts"]
    assert code == 3
    assert (verdict["verdict"], verdict["green"]) == ("REFUSED", True)
    assert verdict["reason"].startswith("dtypes: f16 is not among what unhealthy.fwd_f32 declares (f32)")


def test_a_forgotten_load_is_hinted_at(bitgate):
    code, _, err = bitgate("verify", FORWARD, "--kernel", "mine*")
    assert code == 2
    assert err.strip().endswith(
        "a kernel of yours is known once it is loaded: load in bitgate.toml, --load FILE, or BITGATE_LOAD"
    )
