"""How other harnesses' command lines want their problems to be timed."""

from __future__ import annotations

import re

import pytest

from bitgate.interop import PerfRequest, found_in_case, perf_of
from bitgate.model import ProblemError

PROFILED = "ckProfiler grouped_conv_bwd_data 1 1 {} 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1 1"
DRIVEN = "MIOpenDriver convfp16 -n 4 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -F 4"
DESCRIPTOR = "mb4_g1ic64ih28oc128oh10kh3sh3ph1"


def asked(line: str) -> PerfRequest:
    (entry,) = found_in_case(line)
    return perf_of(entry)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (PROFILED.format("1 1 0 1 2"), PerfRequest()),
        (PROFILED.format("2 2 0 1 2"), PerfRequest(reference="gpu", fill="decimal")),
        ("example_convnd_bwd_data_xdl 1 2 5", PerfRequest(launches=5, fill="decimal")),
        ("example_convnd_bwd_data_xdl 1 1 1", PerfRequest()),
        ("example_convnd_bwd_data_xdl", PerfRequest()),
        (f"{DRIVEN} -t 1 -i 10", PerfRequest(launches=10)),
        (f"{DRIVEN} --iter=3", PerfRequest(launches=3)),
        (DRIVEN, PerfRequest()),
        (f"benchdnn --mode=P --conv {DESCRIPTOR}", PerfRequest()),
        (f"benchdnn --conv --mode=p --fix-times-per-prb=7 {DESCRIPTOR}", PerfRequest(launches=7)),
        (f"benchdnn --mode=CP --max-ms-per-prb=200 --conv {DESCRIPTOR}", PerfRequest(seconds=0.2)),
        (f"benchdnn --mode=P --max-ms-per-prb=1e9 --conv {DESCRIPTOR}", PerfRequest(seconds=60.0)),
        (f"benchdnn --mode=F --conv --cold-cache=all {DESCRIPTOR}", PerfRequest(seconds=0.01, cold=True)),
        (f"benchdnn --mode=S --conv {DESCRIPTOR}", PerfRequest(launches=1)),
        (f"--mode=P --perf-template=def {DESCRIPTOR}", PerfRequest()),
        (DESCRIPTOR, PerfRequest()),
        ("fwd_f32_n1k8c8_y3_h5", PerfRequest()),
    ],
)
def test_what_a_line_asks_for(line, expected):
    assert asked(line) == expected


def test_that_an_implementation_is_chosen_is_told():
    assert asked(f"benchdnn --mode=P --skip-impl=ref,jit --impl= --conv {DESCRIPTOR}").notes == (
        "implementations are chosen by their names there (--skip-impl): here all are timed",
    )


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        (
            PROFILED.format("1 1 0 0 2"),
            "the time switch (arg7) is 0: the line asks for no timing, bitgate verify runs it",
        ),
        ("example_convnd_bwd_data_xdl 1 1 0", "the time switch (arg3) is 0: the line asks for no timing"),
        (f"{DRIVEN} -t 0", "--time is 0: the line asks for no timing"),
        (f"benchdnn --mode=C --conv {DESCRIPTOR}", "--mode=C asks for no timing: P does, and bitgate verify runs C"),
        (f"benchdnn --mode=L --conv {DESCRIPTOR}", "--mode=L asks for no timing"),
        (f"benchdnn --mode=B --conv {DESCRIPTOR}", "--mode=B asks for no timing"),
        (f"benchdnn --mode=Q --conv {DESCRIPTOR}", "--mode=Q is not understood: C (correctness), P (performance)"),
        (
            f"benchdnn --mode=P --perf-template=%-time% --conv {DESCRIPTOR}",
            "--perf-template=%-time% is not understood: times are printed as bitgate's own",
        ),
        (f"benchdnn --mode=P --fix-times-per-prb=many --conv {DESCRIPTOR}", "--fix-times-per-prb=many is not a number"),
    ],
)
def test_lines_that_cannot_be_timed_say_why(line, refusal):
    assert asked(line).refusal.startswith(refusal)


@pytest.mark.parametrize(
    ("line", "notes"),
    [
        (PROFILED.format("0 1 0 1 2"), ["no verification: only what is verified is timed"]),
        (PROFILED.format("1 0 0 1 2"), ["inputs zero, by which any kernel is right: integers are used"]),
        (
            PROFILED.format("1 1 1 1 2"),
            ["the values of tensors are not printed: bitgate verify --dump DIR writes them"],
        ),
        (PROFILED.format("1 1 0 1 2") + " --instance 3", ["by its number in CK's list: here all are timed"]),
        (f"{DRIVEN} -t 1 -w 1 -V 0", ["no verification", "wall-clock times (--wall) are not printed"]),
    ],
)
def test_what_is_done_otherwise_is_noted(line, notes):
    said = asked(line).notes
    assert len(said) == len(notes)
    assert all(part in note for part, note in zip(notes, said, strict=True))


def test_numbers_are_checked():
    with pytest.raises(ProblemError, match=re.escape("--iter 0: 1 to 1000000 launches can be timed")):
        asked(f"{DRIVEN} -i 0")
    with pytest.raises(ProblemError, match="--iter is 'x', not a number"):
        asked(f"{DRIVEN} -i x")


def test_benchdnns_modes_outlast_the_reset_and_the_driver():
    """They describe benchdnn's run, not its problems."""
    entries = found_in_case(f"benchdnn --mode=P --fix-times-per-prb=5 --conv {DESCRIPTOR} --reset --matmul 3x4:4x5")
    assert [perf_of(entry).launches for entry in entries] == [5, 5]
    assert [entry.line for entry in entries] == [f"--conv {DESCRIPTOR}", "--matmul 3x4:4x5"]


def test_each_problem_has_the_line_that_asks_for_it_alone():
    entries = found_in_case(f"benchdnn --conv --dir=BWD_D,BWD_W --dt=f16 {DESCRIPTOR}n'my net'")
    assert [entry.line for entry in entries] == [
        f'--conv --dir={way} --dt=f16 {DESCRIPTOR}n"my net"' for way in ("BWD_D", "BWD_W")
    ]
    assert [found_in_case(entry.line)[0].problem for entry in entries] == [entry.problem for entry in entries]
