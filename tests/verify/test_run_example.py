"""``bitgate run-example``: CK's arguments, CK's lines, and exit codes that tell what was compared."""

from __future__ import annotations

import pytest

from bitgate.cli.main import run

SMALL = ["2", "1", "2", "32", "16", "3", "3", "9", "10", "2", "2", "1", "1", "1", "1", "1", "1"]


@pytest.fixture
def example(capsys):
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["run-example", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


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
        # as CK's README has it, without G
        ("convnd_bwd_data 0 1 5 2 128 256 128 3 3 71 71 2 2 1 1 1 1 1 1", "16 problem parameters: 2D takes 17"),
        ("convnd_fwd 1 1 0", "known: convnd_bwd_data"),
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
