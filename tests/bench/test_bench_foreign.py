"""Other programs' lines in a benchmark: problems, settings, what is refused, and ckProfiler's Perf lines."""

from __future__ import annotations

from typing import Any

import pytest

from bitgate.core.errors import UsageError
from bitgate.interop import PerfRequest, in_words
from bitgate.model import case_id, parse_case_id
from bitgate.results.record.timing import SCHEMA, Timing, TimingStatus
from bitgate.tools.bench.arm import TimedShape
from bitgate.tools.bench.requests import (
    TimedProblem,
    by_settings,
    ck_profiler_lines,
    listed,
    merged,
    named_cases,
    notes,
    repeated,
    settings_of,
)
from bitgate.tools.bench.settings import Settings
from bitgate.verify.trace import format_perf

CASE = "fwd_f16_nhwgc_g1n1k8c8_y1_h4"
PROFILED = "ckProfiler grouped_conv_fwd 1 1 0 {} 2 1 1 8 8 1 1 4 4 1 1 1 1 0 0 0 0"
DRIVEN = "MIOpenDriver convfp16 -n 2 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1 -i 4"


def row(problem, instance: str, seconds=(1e-3,), status=TimingStatus.TIMED, reason="") -> Timing:
    return Timing(
        schema=SCHEMA,
        case=case_id(problem),
        kernel="grouped_fwd",
        instance=instance,
        fill="exact",
        seed=0,
        schedule="forward",
        target="host",
        platform="host",
        device={"kind": "cpu", "name": "a CPU"},
        status=status,
        reason=reason,
        seconds=seconds,
        rounds=tuple(range(len(seconds))),
    )


def test_a_line_says_how_it_is_timed():
    profiled, driven, plain = named_cases([PROFILED.format("2 2 0 1"), DRIVEN, CASE])
    assert (profiled.program, driven.program, plain.program) == ("ckProfiler", "MIOpenDriver", "")
    base = Settings(samples=20, batch_seconds=0.005)
    assert settings_of(base, plain.perf) == base
    assert settings_of(base, driven.perf) == Settings(samples=4, batch_seconds=0.0)
    assert settings_of(base, profiled.perf) == Settings(samples=20, batch_seconds=0.005, fill="decimal")
    assert settings_of(base, PerfRequest(seconds=0.2, cold=True)) == Settings(batch_seconds=0.01, cold=True)


def test_what_is_stated_beside_the_lines_holds():
    (driven,) = named_cases([DRIVEN])
    assert settings_of(Settings(samples=7, fill="decimal"), driven.perf) == Settings(samples=7, fill="decimal")


def test_shapes_that_are_timed_alike_are_timed_together():
    wanted: Any = named_cases([CASE, DRIVEN, DRIVEN.replace("-n 2", "-n 4"), CASE.replace("n1", "n3")])
    shapes: list[Any] = [TimedShape(one.problem) for one in wanted]
    groups: Any = by_settings([*shapes, TimedShape(parse_case_id(CASE.replace("n1", "n5")))], wanted, Settings())
    assert [(settings.samples, [shape.problem.n for shape in members]) for settings, members in groups] == [
        (20, [1, 3, 5]),
        (4, [2, 4]),
    ]


def test_of_several_lines_for_one_problem_the_first_says_how():
    wanted: Any = named_cases([DRIVEN, f"{DRIVEN} -i 9"])
    ((settings, members),) = by_settings([TimedShape(wanted[0].problem)], wanted, Settings())
    assert (settings.samples, len(members)) == (4, 1)


def test_the_naive_kernel_takes_no_split_k():
    line = "ckProfiler grouped_conv_bwd_weight 1 2 2 1 0 1 1 1 2 16 16 3 9 1 1 1 1 {}"
    split, whole = named_cases([line.format(2), line.format(1)])
    assert (split.perf.reference, whole.perf.reference) == ("auto", "gpu")


def test_decimals_are_held_to_bounds_whatever_the_line_names():
    """The naive kernel of the device speaks of bits."""
    decimals, integers = named_cases([PROFILED.format("2 2 0 1"), PROFILED.format("2 1 0 1")])
    assert (decimals.perf.reference, integers.perf.reference) == ("auto", "gpu")


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (
            PROFILED.format("1 1 0 0"),
            "the time switch (arg8) is 0: the line asks for no timing, bitgate verify runs it",
        ),
        ("benchdnn --mode=C --conv mb1ic8ih4oc8oh4kh1", "--mode=C asks for no timing"),
        ("MIOpenDriver conv -B 1", "option '-B' is not understood"),
        ("fwd_f99", "case 'fwd_f99'"),
    ],
)
def test_what_cannot_be_timed_is_an_error(case, text):
    with pytest.raises(UsageError) as caught:
        named_cases([case])
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


COLUMNS = (
    "NDim,Groups,BatchSize,OutChannels,InChannels,KernelH,KernelW,InputH,InputW,StrideH,StrideW,DilationH,DilationW,"
    "LeftPadH,LeftPadW,RightPadH,RightPadW\n"
)
LOG = f"""\
2026-01-02 03:04:05 rank 0: MIOpen(HIP): Command [LogCmdConvolution] ./bin/{DRIVEN}
MIOpen(HIP): Info [get_device_name] it's "gfx90a
2026-01-02 03:04:06 rank 1: MIOpen(HIP): Command [LogCmdConvolution] ./bin/{DRIVEN}
./bin/{DRIVEN.replace("-n 2", "-n 4")}
PRNG seed: 12345678
MIOpenDriver conv -n 1 -c 8 -k 8 -F 1 -t 0
{DRIVEN.replace("-F 1", "-F 1 -b 1")}
"""


def test_a_log_of_miopen_counts_what_stands_in_it_several_times(tmp_path):
    path = tmp_path / "miopen.log"
    path.write_text(LOG)
    wanted: Any
    wanted, refused = listed(path)
    assert [(one.count, one.where, one.problem.n) for one in wanted] == [(2, "line 1", 2), (1, "line 4", 4)]
    assert repeated(wanted) == [f"2 x ./bin/{DRIVEN}"]
    no_line = "it is neither a case id nor a command line of example, ckProfiler, MIOpenDriver, benchdnn"
    assert in_words(refused, sum(one.count for one in wanted)) == [
        "refused: 4 of 7, not looked at",
        f"  2 x {no_line} (first: line 2)",
        "  1 x --time is 0: the line asks for no timing, bitgate verify runs it (first: line 6)",
        "  1 x --bias 1: a bias is not understood (first: line 7)",
    ]


def test_a_list_of_benchdnn_keeps_its_mode_from_line_to_line(tmp_path):
    path = tmp_path / "shapes"
    path.write_text(
        '--mode=P --fix-times-per-prb=3 --dir=FWD_D\nmb1ic8ih4oc8oh4kh1n"one"\n--mode=C\nmb2ic8ih4oc8oh4kh1\n'
    )
    wanted, refused = listed(path)
    assert [(one.perf.launches, one.line) for one in wanted] == [(3, '--conv --dir=FWD_D mb1ic8ih4oc8oh4kh1n"one"')]
    assert [one.where for one in refused] == ["line 4"]


def test_tables_are_read_like_lists(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text(COLUMNS)
    with pytest.raises(UsageError, match="no case found"):
        listed(path)
    with path.open("a") as table:
        table.write("2,1,2,8,8,1,1,4,4,1,1,1,1,0,0,0,0\n" * 2)
    problem: Any
    ((problem, count),) = [(one.problem, one.count) for one in listed(path)[0]]
    assert (problem.n, problem.k, count) == (2, 8, 2)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"--cases .*missing\.txt cannot be read: No such file"):
        listed(tmp_path / "missing.txt")


def test_the_same_problem_asked_for_in_two_ways_is_timed_twice():
    problem = parse_case_id(CASE)
    one, other = TimedProblem(problem), TimedProblem(problem, PerfRequest(launches=3))
    assert merged([one, other, one]) == [TimedProblem(problem, count=2), other]


def test_notes_are_told_once():
    lines = [PROFILED.format("0 1 0 1"), PROFILED.format("0 1 0 1").replace(" 2 1 1 8", " 2 1 2 8")]
    assert notes(named_cases(lines)) == [
        "the line asks for no verification: only what is verified is timed, so it is verified"
    ]


def test_lines_of_ck_profiler_get_its_perf_lines_and_no_others():
    wanted: Any = named_cases([PROFILED.format("1 1 0 1"), DRIVEN, "benchdnn --mode=P --conv mb1ic8ih4oc8oh4kh1", CASE])
    problems = dict.fromkeys(one.problem for one in wanted)
    assert len(problems) > 1
    rows = [row(problem, instance, (2e-3, 4e-3)) for problem in problems for instance in ("a", "b")]
    said = format_perf(wanted[0].problem, 3.0, width=10)
    assert said.startswith("Perf:          3 ms, ")
    assert list(ck_profiler_lines(wanted, rows)) == [f"{said}, grouped_fwd.a", f"{said}, grouped_fwd.b"]


def test_split_ks_are_told_apart():
    wanted: Any = named_cases(["ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 1 1 1 2 8 8 1 7 1 1 0 0 all"])[:2]
    rows = [row(one.problem, "a", (1e-3,)) for one in wanted]
    ends = [line.split("GB/s, ")[1] for line in ck_profiler_lines(wanted, rows)]
    assert ends == ["grouped_fwd.a, SplitK -1", "grouped_fwd.a"]


def test_what_was_not_verified_has_no_format_perf():
    (wanted,) = named_cases([PROFILED.format("1 1 0 1")])
    rows = [
        row(wanted.problem, "a", (), TimingStatus.NOT_VERIFIED, "3 cells differ"),
        row(wanted.problem, "b", (), TimingStatus.REFUSED),
    ]
    assert list(ck_profiler_lines([wanted], rows)) == []
