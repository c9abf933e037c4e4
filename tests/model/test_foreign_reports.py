"""What was measured in the words of the programs that people read it in; their own output is the golden text."""

from __future__ import annotations

import pytest

from bitgate.interop import TimedKernel, found_in_case, parse_foreign, report
from bitgate.interop.measured import perf_words

(README,) = parse_foreign("example_convnd_bwd_data_xdl 0 1 5")
"""CK's documented run, whose Perf line is known."""
BWD_DATA = "ckProfiler grouped_conv_bwd_data 1 1 1 1 0 1 2 1 4 128 64 3 3 28 28 3 3 1 1 1 1 1 1"


def test_the_documented_line_of_example_17_to_the_digit():
    """The FLOP and byte counts are CK's: at one time that prints as 1.40031 ms both rates are the documented ones."""
    assert README.flops == 2 * 128 * 256 * 128 * (36 * 36) * (3 * 3) == 97_844_723_712
    assert README.bytes == 2 * (128 * 128 * 71 * 71 + 256 * 128 * 3 * 3 + 128 * 256 * 36 * 36) == 250_707_968
    measured = TimedKernel(README, "any", seconds=(1.4003136e-3,))
    assert perf_words(measured) == "Perf: 1.40031 ms, 69.8734 TFlops, 179.037 GB/s"


def test_the_time_is_the_mean():
    measured = TimedKernel(README, "any", seconds=(1e-3, 3e-3))
    assert perf_words(measured, 10) == "Perf:          2 ms, 48.9224 TFlops, 125.354 GB/s"


def test_ck_profiler_of_backward_data():
    (problem,) = parse_foreign(BWD_DATA)
    rows = [
        TimedKernel(problem, "slow", (2e-3,)),
        TimedKernel(problem, "fast", (1e-3,)),
        TimedKernel(problem, "other", refused=True, reason="refused: groups: G = 1"),
        TimedKernel(problem, "wrong", reason="not verified: 12 cells of in differ"),
    ]
    assert report("ckProfiler", rows) == [
        "out: dim 5, lengths {1, 4, 128, 10, 10}, strides {128, 12800, 1, 1280, 128}",
        "wei: dim 5, lengths {1, 128, 64, 3, 3}, strides {73728, 576, 1, 192, 64}",
        "in: dim 5, lengths {1, 4, 64, 28, 28}, strides {64, 50176, 1, 1792, 64}",
        "Perf:          2 ms, 0.0294912 TFlops, 0.325632 GB/s, slow, SplitK 1",
        "Perf:          1 ms, 0.0589824 TFlops, 0.651264 GB/s, fast, SplitK 1",
        "other does not support this problem",
        "wrong, SplitK 1: not verified: 12 cells of in differ",
        "Best configuration parameters:",
        "name: fast",
        "avg_time: 1",
        "tflops: 0.0589824",
        "GB/s: 0.651264, SplitK 1",
    ]


def test_ck_profiler_of_all_split_ks_tells_them_apart():
    problems = parse_foreign("ckProfiler grouped_conv_bwd_weight 1 2 1 1 0 1 1 1 2 8 8 1 7 1 1 0 0 all")
    rows = [TimedKernel(problem, kernel, (1e-3,)) for problem in problems[:2] for kernel in ("a", "b")]
    lines = report("ckProfiler", rows)
    assert lines[3] == "found 2 instances"
    assert [line.split("GB/s, ")[1] for line in lines if line.startswith("Perf")] == [
        "a, SplitK -1",
        "a, SplitK 1",
        "b, SplitK -1",
        "b, SplitK 1",
    ]
    assert "valids: 4" in lines


def test_ck_profiler_of_a_forward_convolution_has_no_split_k():
    (problem,) = parse_foreign("ckProfiler grouped_conv_fwd 3 1 0 1 1 0 1 1 2 4 8 16 3 14 2 1 1 0")
    lines = report("ckProfiler", [TimedKernel(problem, "a", (1e-3,))])
    assert lines[0].startswith("input: dim 4, lengths {2, 4, 16, 14}")
    assert lines[3] == "ckProfiler found 1 instances"
    assert lines[4].endswith("GB/s, a")


def test_ck_profiler_without_a_time_has_no_best():
    (problem,) = parse_foreign(BWD_DATA)
    lines = report("ckProfiler", [TimedKernel(problem, "a", reason="failed: out of memory")])
    assert lines[-1] == "Best configuration parameters: none, no instance was timed"


def test_miopen_driver_of_a_forward_convolution():
    """The stats line is MIOpen's own for this shape and time, from a public report, but for MIOpen's order of x, y."""
    (problem,) = parse_foreign("MIOpenDriver convfp16 -n 1 -c 256 -H 512 -W 512 -k 256 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1")
    rows = [TimedKernel(problem, "a", (3e-3,)), TimedKernel(problem, "b", (2.539060e-3,), verified="GPU")]
    assert report("MIOpenDriver", rows) == [
        "MIOpen Forward Conv. Algorithm: 5, Solution: b",
        "GPU Kernel Time Forward Conv. Elapsed: 2.539060 ms (average)",
        "stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs",
        "stats: fwd-conv3x3u1, 1, 256, 512, 512, 3, 3, 256,  309237645312, 135397376, 134217728, 121792, 106, 2.539060",
        "Forward Convolution Verifies OK on GPU reference (0)",
    ]


def test_miopen_driver_of_several_passes():
    forward, data, weights = parse_foreign("MIOpenDriver conv -_ 3 -n 1 -c 4 -k 8 -g 2 -! 5 -H 6 -W 7 -u 2")
    rows = [TimedKernel(data, "a", (1e-3,), verified="CPU"), TimedKernel(forward, "b", refused=True)]
    rows.append(TimedKernel(weights, "c", reason="not verified: 3 cells differ"))
    lines = report("MIOpenDriver", rows)
    assert lines[0] == "MIOpen Backward Data Conv. Algorithm: 5, Solution: a"
    assert lines[3].startswith("stats: bwdd-conv3x3x3u1, 1, 4, 3, 2, 5, 3, 3, 3, 8,  25920, ")
    assert lines[4:] == [
        "Backward Convolution Data Verifies OK on CPU reference (0)",
        "MIOpen Forward Conv. not timed: no kernel takes it",
        "MIOpen Backward Weights Conv. not timed: not verified: 3 cells differ",
    ]


def test_benchdnn():
    """The first line's operations are those that benchdnn prints for this layer."""
    line = 'benchdnn --mode=P --conv --dir=FWD_D mb256ic3ih227oc96oh55kh11sh4ph0n"alexnet:conv1" mb1ic8ih4oc8oh4kh1'
    first, second = found_in_case(line)
    rows = [
        TimedKernel(first.problem, "a", (20e-3, 40e-3), line=first.line, on_cpu=True),
        TimedKernel(first.problem, "b", (50e-3,), line=first.line, on_cpu=True),
        TimedKernel(second.problem, "a", refused=True, line=second.line),
    ]
    assert report("benchdnn", rows) == [
        "Output template: perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%",
        'perf,cpu,a,"alexnet:conv1",--conv --dir=FWD_D mb256ic3ih227oc96oh55kh11sh4ph0n"alexnet:conv1",'
        "53.9726,0,20,2698.63,30,1799.09",
        "0:UNIMPLEMENTED __REPRO: --conv --dir=FWD_D mb1ic8ih4oc8oh4kh1",
        "tests:2 passed:1 skipped:0 mistrusted:0 unimplemented:1 invalid_arguments:0 failed:0 listed:0",
        "total perf: min(ms):20 avg(ms):30",
    ]


@pytest.mark.parametrize("program", ["", "example_"])
def test_programs_without_a_report_of_their_own(program):
    assert report(program, [TimedKernel(README, "any", (1e-3,))]) == []
