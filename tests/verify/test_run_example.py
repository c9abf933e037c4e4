"""``bitgate run-example``: CK's arguments, CK's lines, and exit codes that show what was compared."""

from __future__ import annotations

import re

import pytest

from bitgate.cli.main import run
from bitgate.cli.run_example import FAMILIES, _read
from bitgate.core import paths
from bitgate.verify.selection import candidates, select_for

SMALL = ["2", "1", "2", "32", "16", "3", "3", "9", "10", "2", "2", "1", "1", "1", "1", "1", "1"]


@pytest.fixture
def example(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["run-example", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


DOCUMENT = paths.root() / "docs" / "foreign.md"
DOCUMENTED = re.findall(r"^    bitgate run-example (.+)$", DOCUMENT.read_text(), re.MULTILINE)


@pytest.mark.parametrize("line", DOCUMENTED)
def test_the_documents_examples_have_a_kernel_that_takes_them(line):
    name, *arguments = line.split()
    problem, _, variant = _read(name, arguments)
    family = FAMILIES[variant.name][variant.kind]
    assert select_for(problem, candidates(f"{family}.*", {}, "host")).supporting


@pytest.mark.parametrize(
    ("verify", "init", "reference"),
    [("1", "1", "exact"), ("2", "1", "gpu"), ("1", "2", "bounds"), ("2", "2", "bounds")],
)
def test_every_verification_of_data(example, verify, init, reference):
    code, out, _ = example("convnd_bwd_data", verify, init, "0", *SMALL)
    assert code == 0
    assert f"compared with the reference '{reference}'" in out
    assert "Perf:" not in out
    assert [line for line in out.splitlines() if line.startswith("arg.a")] == [
        f"arg.a_grid_desc_k0_m_k1_container_{{{k0}, 72, 8}}" for k0 in (16, 8, 8, 4)
    ]


def test_a_number_of_runs_is_honoured_and_its_mean_printed(example):
    code, out, _ = example("convnd_bwd_data", "1", "1", "3", *SMALL)
    assert code == 0
    lines = out.splitlines()
    launches = [at for at, line in enumerate(lines) if line.startswith("launch_and_time_kernel:")]
    assert len(launches) == 4  # a sub-GEMM each
    assert all(lines[at + 1 : at + 3] == ["Warm up", "Start running 3 times..."] for at in launches)
    (at,) = (at for at, line in enumerate(lines) if line.startswith("Perf: "))
    assert lines[at + 1] == "in this time, besides the kernels that compute: zero_fill"


def test_timed_kernels_are_verified_even_if_not_asked_for(example):
    code, out, _ = example("convnd_bwd_data", "0", "1", "2", *SMALL)
    assert code == 0
    assert "verification 0: verified all the same, since only what is verified is timed" in out
    assert "compared with the reference 'exact'" in out


def test_zeros_are_not_timed(example):
    """Any kernel is right by them."""
    code, out, _ = example("convnd_bwd_data", "1", "0", "2", *SMALL)
    assert code == 3
    assert "not timed: only what is verified is timed" in out
    assert "Perf:" not in out


def test_time_is_printed_when_asked_for(example):
    code, out, _ = example("convnd_bwd_data_xdl_bf16", "1", "1", "1", *SMALL)
    assert code == 0
    assert "bf16_128x64x32_a8b8c8" in out
    (perf,) = (line for line in out.splitlines() if line.startswith("Perf: "))
    ms, tflops, gbps = (float(part.split()[0]) for part in perf.removeprefix("Perf: ").split(", "))
    assert tflops == pytest.approx(460800 / 1e9 / ms, rel=1e-4)
    assert gbps == pytest.approx((2880 + 4608 + 1600) * 2 / 1e6 / ms, rel=1e-4)


@pytest.mark.parametrize(
    ("verify", "init", "line"),
    [("0", "1", "nothing was compared (verification 0)"), ("1", "0", "the inputs are zeros (init 0)")],
)
def test_nothing_compared_is_no_success(example, verify, init, line):
    code, out, _ = example("convnd_bwd_data", verify, init, "0", *SMALL)
    assert code == 3
    assert "NOT_RUN" in out
    assert line in out


def test_groups_are_refused_with_the_clause(example):
    code, out, _ = example("convnd_bwd_data", "1", "1", "0", *["1", "2", "1", "16", "16", "3", "9", "1", "1", "1", "1"])
    assert code == 3
    assert "Not supported: groups: G = 2" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("convnd_bwd_data 1", "1 arguments: give verify, init and time"),
        ("convnd_bwd_data 3 1 0", "the verification is 3: 0 (none), 1 (CPU), 2 (GPU)"),
        ("convnd_bwd_data 1 3 0", "the init method is 3: 0 (none), 1 (integers), 2 (decimals)"),
        ("convnd_bwd_data 1 1 x", "the time switch is 'x', not a number"),
        ("convnd_bwd_data 0 1 5 2 256 128 3 3 71 71 2 2 1 1 1 1 1 1", "right pads), or 16 without G"),
        ("grouped_conv_bwd_weight 1 1 0 2 1 8 8 3 3 9 9 1 1 1 1 1 1 1 1", "16 problem parameters: 2D takes 17"),
        ("gemm_xdl_fp16 1 1 0", "example_convnd_fwd, example_convnd_bwd_data, example_grouped_conv_fwd"),
        ("grouped_conv_bwd_data_xdl_fp64_half 1 1 0", "'half' is not understood after grouped_conv_bwd_data"),
    ],
)
def test_other_arguments_are_an_error(example, arguments, text):
    code, out, err = example(*arguments.split())
    assert (code, out) == (2, "")
    assert text in err


def test_the_expected_arguments_are_listed(example):
    assert (
        "ndim G N K C filter.. input.. strides.. dilations.. left pads.. right pads.."
        in example("convnd_bwd_data", "1")[2]
    )


GROUPED = ["2", "2", "2", "16", "16", "3", "3", "9", "10", "2", "2", "1", "1", "1", "1", "1", "1"]


def test_a_grouped_forward_convolution(example):
    code, out, _ = example("grouped_conv_fwd_xdl_fp16", "1", "1", "0", *GROUPED)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].endswith("grouped_fwd.f16_128x128x32_a8b8c8_d3")
    assert [line.partition(": dim 5, ")[2] for line in lines[1:4]] == [
        "lengths {2, 2, 16, 9, 10}, strides {16, 2880, 1, 320, 32}",
        "lengths {2, 16, 16, 3, 3}, strides {2304, 144, 1, 48, 16}",
        "lengths {2, 2, 16, 5, 5}, strides {16, 800, 1, 160, 32}",
    ]
    assert "Start running" not in out


def test_a_grouped_backward_data(example):
    code, out, _ = example("grouped_conv_bwd_data_wmma_bf16", "1", "2", "0", *GROUPED)
    assert code == 0
    assert out.count("arg.a_grid_desc") == 4
    assert "grouped_bwd_data.bf16_128x128x32_a8b8c8_d3_w32" in out  # waves of 32 lanes, as wmma has


def test_a_forward_convolution_is_timed_and_compared_with_naive(example):
    code, out, _ = example("convnd_fwd_xdl_fp16", "2", "1", "2", *SMALL)
    assert code == 0
    assert len([line for line in out.splitlines() if line.startswith("Perf: ")]) == 1
    assert "compared with the reference 'gpu'" in out


def test_backward_weight_with_split_k_is_compared_with_the_cpu(example):
    arguments = ["2", "1", "0", "2", "1", "2", "16", "16", "3", "3", "9", "10", "1", "1", "1", "1", "1", "1", "1", "1"]
    code, out, _ = example("grouped_conv_bwd_weight_xdl_fp16", *arguments)
    assert code == 0
    assert "compared with the reference 'gpu'" in out
    code, out, _ = example("grouped_conv_bwd_weight_xdl_fp16", *arguments, "2")
    assert code == 0
    assert "bwd_weight_f16_gnhwc_g1n2k16c16_y3x3_h9x10_s1x1_d1x1_p1x1_q1x1_sk2" in out
    assert "compared with the reference 'exact'" in out
    assert out.startswith("verification 2: the naive kernel takes no split-K, so the reference is the CPU's\n")


def test_the_wavelet_is_a_family_of_its_own(example):
    arguments = ["1", "1", "0", "1", "1", "2", "8", "8", "3", "9", "1", "1", "1", "1"]
    code, out, _ = example("grouped_conv_bwd_weight_wavelet_xdl_fp16", *arguments)
    assert code == 0
    assert "bwd_weight_wavelet.f16_" in out


def test_words_of_a_name_that_choose_nothing_are_told(example):
    code, out, _ = example("grouped_conv_bwd_data_wmma_v3_fp16", "1", "1", "0", *GROUPED)
    assert code == 0
    assert out.startswith("'v3' chooses nothing here\n")


def test_the_older_form_without_g(example):
    code, out, _ = example("convnd_bwd_data", "1", "1", "0", SMALL[0], *SMALL[2:])
    assert code == 0
    assert "bwd_data_f16_gnhwc_g1n2k32c16_y3x3_h9x10_s2x2_d1x1_p1x1_q1x1" in out
